"""The one loop of a chat model with tools: request, calls, results, until a reply calls none or the turns are used up.

What the tools are and where they run is the affair of a `Toolbox`: a shell in a workspace (`tool_loop`), or the tools
of an environment (`envs.episodes.tools`). A fault of the model call or of a tool's worker: the attempt is lost. An
attempt that is cut (out of turns, out of tokens) scores 0.0 whatever it left, so its files are not collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from skillopt.agents.base import Attempt, Task, TokenSums, first_prompts, truncated
from skillopt.agents.chat import request_of
from skillopt.core.errors import ContextOverflow, ModelError, StopRun
from skillopt.core.json_types import JsonObject
from skillopt.model.types import ChatModel, Message, ToolCall
from skillopt.work.errors import WorkerLost


class ToolFault(Exception):
    """A tool that cannot be used, whatever it is asked: the attempt is lost with this text."""


class Toolbox(Protocol):
    """The tools of one attempt. Methods raise `ToolFault` and `WorkerLost`."""

    @property
    def tools(self) -> tuple[JsonObject, ...]:
        """As the model is told of them."""
        ...

    async def called(self, call: ToolCall, messages: Sequence[Message]) -> tuple[str, JsonObject]:
        """What a call brought: for the model, and as a row of the trajectory. Faults of the call are told to the model.
        `messages` is the conversation up to here."""
        ...

    async def finished(self, attempt: Attempt, messages: Sequence[Message]) -> Attempt:
        """An attempt that ended with an answer, with what was left behind."""
        ...

    def notes(self) -> JsonObject:
        """What is recorded besides."""
        ...


class ToolTurns:
    """One attempt on its way."""

    def __init__(self, chat: ChatModel, task: Task, first: Sequence[Message], box: Toolbox, *, max_turns: int) -> None:
        self._chat, self._task, self._box, self._max_turns = chat, task, box, max_turns
        self._first = tuple(first)
        self._messages = list(first)
        self._tokens = TokenSums()
        self._trajectory: list[JsonObject] = []
        self._turns = 0

    async def run(self) -> Attempt:
        """Turn by turn until an answer, a loss or the limit of turns. Raises `StopRun`, `ReplayMiss`."""
        try:
            return await self._run()
        except StopRun:
            raise
        except (ModelError, ToolFault, WorkerLost) as error:
            lost = self._attempt(lost=str(error), reason="lost")
            return replace(lost, too_long=isinstance(error, ContextOverflow))

    async def _run(self) -> Attempt:
        for turn in range(1, self._max_turns + 1):
            reply = await self._chat.chat(request_of(self._task, tuple(self._messages), tools=self._box.tools))
            self._turns = turn
            self._tokens.add(reply.usage)
            if reply.text.strip() or not reply.tool_calls:
                self._trajectory.append({"type": "message", "turn": turn, "content": reply.text})
            if reply.finish == "length":
                return self._attempt(cut=truncated(self._task.sampling.max_completion_tokens), reason="length")
            if not reply.tool_calls:
                attempt = self._attempt(text=reply.text, reason="completed")
                return await self._box.finished(attempt, self._messages)
            self._messages.append(reply.message())
            for call in reply.tool_calls:
                said, row = await self._box.called(call, self._messages)
                self._messages.append(Message("tool", said, tool_call_id=call.id))
                self._trajectory.append(row)
        return self._attempt(cut=f"out-of-turns: {self._max_turns} turns without an answer", reason="turns")

    def _attempt(self, *, text: str = "", lost: str = "", cut: str = "", reason: str) -> Attempt:
        system, user = first_prompts(self._first)
        attempt = Attempt(
            text=text,
            trajectory=tuple(self._trajectory),
            tokens=self._tokens.to_json(),
            system_prompt=system,
            user_prompt=user,
            lost=lost,
            cut=cut,
        )
        return replace(attempt, notes={**self._box.notes(), "exit_reason": reason, "turns": self._turns})
