"""The one loop that plays an episode with a chat model: request, reply, action, step, until it is over.

The simulator says `done`, the turns are used up or the conversation outgrows the model's context: the target had its
chance, and the environment scores where the episode stands. A fault of the model call or of the simulator, a lost
worker, a deadline: the attempt is lost, whatever was reached. What must end the run passes through.
A reply that was cut off by the token limit is not adopted: its turn is played with the action of an empty reply.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TypeVar

from skillopt.agents.base import Attempt, Task, TokenSums, first_prompts
from skillopt.agents.chat import request_of
from skillopt.core.errors import ContextOverflow, ModelError, StopRun
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.offers import offers
from skillopt.envs.base import Env
from skillopt.envs.episodes.protocol import (
    ParsesActions,
    Played,
    Reset,
    Step,
    WritesTurns,
    conversation,
    end_of,
    parse_tag,
    turns_of,
    without_tag,
)
from skillopt.envs.episodes.simulator import Place, Simulator, SimulatorFault
from skillopt.envs.scoring import Scoring
from skillopt.model.traffic.retry import Deadline, OuterTimeUp
from skillopt.model.types import ChatModel, ChatReply, Message
from skillopt.work.errors import WorkerLost

T = TypeVar("T")


async def play(env: Env, task: Task, chat: ChatModel, scoring: Scoring) -> Attempt:
    """Play one item. Raises `StopRun`, `ReplayMiss`, `ConfigError` and `DataError`; other faults are `lost`."""
    game = _Game(env, task, chat, scoring)
    try:
        return await game.played()
    finally:
        await game.simulator.aclose()


class _Game:
    """One attempt on its way."""

    def __init__(self, env: Env, task: Task, chat: ChatModel, scoring: Scoring) -> None:
        self._env, self._task, self._chat = env, task, chat
        self._turns = turns_of(env)
        seconds: float | None = getattr(env, "episode_seconds", None)
        self._clock = None if seconds is None else Deadline(seconds)
        """Runs while the simulator or the model is at work: not while a call waits for a place or for an endpoint that
        is down."""
        self._tokens = TokenSums()
        self._first: tuple[Message, ...] = ()
        self._start = Reset("")
        self._played: list[Played] = []
        self._rows: list[JsonObject] = []
        place = Place(task.skill.hash, task.repeat, task.stage)
        self.simulator = Simulator(env, task.item, place, scoring)

    async def played(self) -> Attempt:
        """Turn by turn to the end."""
        try:
            self._start = await self._timed(self.simulator.reset())
            self._rows.append({"role": "user", "content": self._start.observation})
            for _ in range(self._turns):
                step = await self._turn()
                if step.done:
                    return self.attempt(ended="done")
        except StopRun:
            raise
        except ContextOverflow as error:
            return self.attempt(ended="context") if self._played else self._too_long(error)
        except OuterTimeUp:
            return self.attempt(lost=f"the episode took longer than {self._clock.seconds if self._clock else 0:g} s")
        except (ModelError, SimulatorFault, WorkerLost) as error:
            return self.attempt(lost=str(error))
        return self.attempt(ended="turns")

    async def _timed(self, work: Awaitable[T]) -> T:
        return await (work if self._clock is None else Deadline(math.inf, self._clock).run(work))

    def _too_long(self, error: ContextOverflow) -> Attempt:
        return replace(self.attempt(lost=str(error)), too_long=True)

    async def _turn(self) -> Step:
        messages = self._messages()
        self._first = self._first or messages
        reply = await self._chat.chat(request_of(self._task, messages, within=self._clock))
        self._tokens.add(reply.usage)
        action = self._action(reply)
        step = await self._timed(self.simulator.step(action, reply.text))
        self._played.append(Played(reply.text, action, step))
        self._rows.append(_row(len(self._played), reply, action, step))
        return step

    def _messages(self) -> tuple[Message, ...]:
        item, text, env = self._task.item, self._task.skill.text, self._env
        if offers(env, WritesTurns):
            return env.turn_messages(item, text, self._start, tuple(self._played))
        return conversation(env.messages(item, text), self._start, self._played)

    def _action(self, reply: ChatReply) -> str:
        text = "" if reply.finish == "length" else reply.text
        env = self._env
        return env.parse_action(self._task.item, text) if offers(env, ParsesActions) else parse_tag(text)

    def attempt(self, *, ended: str = "", lost: str = "") -> Attempt:
        """What there is to record, at whatever end."""
        system, user = first_prompts(self._first)
        played: Sequence[Played] = self._played
        reason = "lost" if lost else "completed" if ended == "done" else ended
        notes: dict[str, JsonValue] = {"harness": "episode", "exit_reason": reason, "turns": len(played)}
        return Attempt(
            text=played[-1].reply if played else "",
            trajectory=tuple(self._rows),
            tokens=self._tokens.to_json(),
            system_prompt=system,
            user_prompt=user,
            lost=lost,
            notes=notes,
            episode=None if lost else end_of(played, self._start, ended),
        )


def _row(turn: int, reply: ChatReply, action: str, step: Step) -> JsonObject:
    """One turn of `conversation.json`."""
    row: dict[str, JsonValue] = {
        "type": "message",
        "turn": turn,
        "content": reply.text,
        "action": action,
        "reasoning": without_tag(reply.text),
        "env_feedback": step.observation,
        "reward": step.score,
        "done": step.done,
    }
    if step.hint:
        row["hint"] = step.hint
    if reply.finish == "length":
        row["cut"] = True
    return row
