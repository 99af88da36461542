"""The tools of an environment, in the one loop of a model with tools (`agents.tool_turns`).

An environment of episodes that names `tools(item)` is not told actions in text: each tool call is a step of its
episode, the action being `{"name": …, "arguments": {…}}`, and so is the last reply, which calls none (`FINISH`, with
the reply as `arguments.text`). So tools have an executor's session, stored answers and a resume like any simulator. A
call whose arguments are not JSON is told to the model and never reaches the episode.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from skillopt.agents.base import Attempt, Task
from skillopt.agents.tool_turns import ToolFault, ToolTurns
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text, parse_json
from skillopt.core.offers import offers
from skillopt.core.redact import redact
from skillopt.core.shorten import shorten
from skillopt.envs.base import Env
from skillopt.envs.episodes.protocol import Played, Reset, WritesTurns, conversation, end_of, turns_of
from skillopt.envs.episodes.simulator import Place, Simulator, SimulatorFault
from skillopt.envs.scoring import Scoring
from skillopt.model.types import ChatModel, Message, ToolCall

FINISH = ""
"""The name of the step that ends an episode of tools."""


@runtime_checkable
class HasTools(Protocol):
    """An environment of episodes whose target is given tools; none for an item means that it is played in text."""

    def tools(self, item: Item) -> tuple[JsonObject, ...]:
        """The tools in the OpenAI shape; `function` makes one."""
        ...


def tools_of(env: object, item: Item) -> tuple[JsonObject, ...]:
    """The tools that an environment gives the target of an item."""
    return env.tools(item) if offers(env, HasTools) else ()


def function(name: str, description: str, properties: JsonObject, required: Sequence[str] = ()) -> JsonObject:
    """A tool: `function("grep", "Find lines.", {"pattern": {"type": "string"}}, ["pattern"])`."""
    parameters: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def call_in(action: str) -> tuple[str, dict[str, JsonValue]]:
    """Name and arguments of the call that an action is; for the episode's side."""
    value = as_object(parse_json(action))
    return as_text(value.get("name")), as_object(value.get("arguments"))


async def play_with_tools(
    env: Env, task: Task, chat: ChatModel, scoring: Scoring, tools: tuple[JsonObject, ...]
) -> Attempt:
    """Play one item. Raises `StopRun`, `ReplayMiss`, `ConfigError` and `DataError`; other faults are `lost`."""
    simulator = Simulator(env, task.item, Place(task.skill.hash, task.repeat, task.stage), scoring)
    try:
        box = EpisodeTools(simulator, tools)
        try:
            start = await box.begun()
        except ToolFault as error:
            return Attempt(lost=str(error), notes={"harness": "tools", "exit_reason": "lost", "turns": 0})
        first = _first(env, task, start)
        return await ToolTurns(chat, task, first, box, max_turns=turns_of(env)).run()
    finally:
        await simulator.aclose()


def _first(env: Env, task: Task, start: Reset) -> tuple[Message, ...]:
    if offers(env, WritesTurns):
        return env.turn_messages(task.item, task.skill.text, start, ())
    return conversation(env.messages(task.item, task.skill.text), start, ())


class EpisodeTools:
    """A `Toolbox` whose tools are an episode's steps."""

    def __init__(self, simulator: Simulator, tools: tuple[JsonObject, ...]) -> None:
        self.tools = tools
        self._simulator = simulator
        self._start = Reset("")
        self._played: list[Played] = []
        self._calls = 0

    async def begun(self) -> Reset:
        """Begin the episode. Raises `ToolFault`."""
        try:
            self._start = await self._simulator.reset()
        except SimulatorFault as error:
            raise ToolFault(str(error)) from error
        return self._start

    async def called(self, call: ToolCall, messages: Sequence[Message]) -> tuple[str, JsonObject]:
        """One call as a step."""
        shown = f"{call.name} {call.arguments}"
        self._calls += 1
        arguments = _arguments(call)
        if arguments is None:
            said = f"(not run: the arguments of {call.name} are not a JSON object: {shorten(call.arguments, 200)})"
        else:
            said = await self._step(call.name, arguments, call.arguments)
        return said, {"type": "tool_call", "cmd": redact(shown), "obs": said}

    async def finished(self, attempt: Attempt, messages: Sequence[Message]) -> Attempt:
        """The last reply as a step; how the episode ended goes with the attempt."""
        await self._step(FINISH, {"text": attempt.text}, attempt.text)
        return replace(attempt, episode=end_of(self._played, self._start, "done"))

    def notes(self) -> JsonObject:
        """How many calls there were."""
        return {"harness": "tools", "commands": self._calls}

    async def _step(self, name: str, arguments: JsonObject, reply: str) -> str:
        action = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, sort_keys=True)
        try:
            step = await self._simulator.step(action, reply)
        except SimulatorFault as error:
            raise ToolFault(str(error)) from error
        self._played.append(Played(reply, action, step))
        return step.observation


def _arguments(call: ToolCall) -> JsonObject | None:
    try:
        value = parse_json(call.arguments or "{}")
    except ValueError:
        return None
    return as_object(value) if isinstance(value, dict) else None
