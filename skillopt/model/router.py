"""A convenience for people at a prompt: choose a backend for a role, ask it a question.

>>> from skillopt.model import chat_target, set_target_backend
>>> set_target_backend("scripted")
>>> text, usage = chat_target("You are a calculator.", "What is 21 + 21?")
>>> sorted(usage)
['completion_tokens', 'prompt_tokens', 'total_tokens']

Nothing inside the package asks through here or keeps state here: a run's models are in its configuration. Everything
that is not chosen comes from the environment variables, as it does for a run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from skillopt.core.errors import ConfigError, FatalModelError
from skillopt.core.json_types import JsonObject
from skillopt.model.common import RoleName, ask, blocking, settings_of, usage_dict
from skillopt.model.types import ChatReply, ChatRequest, Message
from skillopt.model.usage import believable

Tokens = Mapping[str, "int | None"]
Answer = tuple[str, Tokens]
Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass
class Router:
    """Who is asked for each role. `chosen` holds configuration keys that beat the environment."""

    chosen: dict[str, object] = field(default_factory=dict[str, object])

    def set_target_backend(self, name: str, model: str = "") -> None:
        """Choose the target's backend, and its model where it is not the backend's own default."""
        self._choose("target", name, model)

    def set_optimizer_backend(self, name: str, model: str = "") -> None:
        """Choose the optimizer's backend, and its model."""
        self._choose("optimizer", name, model)

    def _choose(self, role: RoleName, name: str, model: str) -> None:
        chosen = {**self.chosen, f"model.{role}_backend": name}
        chosen.pop(f"model.{role}", None)
        if model:
            chosen[f"model.{role}"] = model
        settings_of(role, chosen, os.environ)  # a misspelt name is told now
        self.chosen = chosen

    def chat_target(
        self,
        system: str,
        user: str,
        max_completion_tokens: int = 16_384,
        retries: int = 5,
        stage: str = "rollout",
        reasoning_effort: str = "",
        timeout: float = 300.0,
    ) -> Answer:
        """Ask the target; returns its text and usage."""
        reply = self._chat(
            "target", _asked(system, user), max_completion_tokens, retries, stage, reasoning_effort, timeout
        )
        return reply.text, usage_dict(reply.usage)

    def chat_optimizer(
        self,
        system: str,
        user: str,
        max_completion_tokens: int = 16_384,
        retries: int = 3,
        stage: str = "analyst",
        reasoning_effort: str = "",
        timeout: float = 300.0,
    ) -> Answer:
        """Ask the optimizer; returns its text and usage."""
        reply = self._chat(
            "optimizer", _asked(system, user), max_completion_tokens, retries, stage, reasoning_effort, timeout
        )
        return reply.text, usage_dict(reply.usage)

    def chat_messages(
        self,
        role: RoleName,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[JsonObject] = (),
        tool_choice: str = "",
        max_completion_tokens: int = 16_384,
        retries: int = 5,
        stage: str = "rollout",
        reasoning_effort: str = "",
        timeout: float = 300.0,
        return_message: bool = False,
    ) -> tuple[str | JsonObject, Tokens]:
        """Ask with messages of the OpenAI form and tools; `return_message` gives the whole reply's message."""
        asked = tuple(Message(cast("Speaker", m["role"]), cast("str", m["content"])) for m in messages)
        reply = self._chat(
            role, asked, max_completion_tokens, retries, stage, reasoning_effort, timeout, tuple(tools), tool_choice
        )
        return (reply.message().to_json() if return_message else reply.text), usage_dict(reply.usage)

    def _chat(self, role: RoleName, messages: tuple[Message, ...], cap: int, retries: int, stage: str, effort: str,
              timeout: float, tools: tuple[JsonObject, ...] = (), tool_choice: str = "") -> ChatReply:  # fmt: skip
        if retries < 1:
            raise ConfigError(f"retries={retries}: at least one attempt is needed")
        settings = settings_of(role, self.chosen, os.environ)
        request = ChatRequest(
            messages=messages,
            stage=stage,
            max_completion_tokens=cap,
            attempts=retries,
            deadline_s=timeout,
            reasoning_effort=effort or settings.reasoning_effort,
            tools=tools,
            tool_choice=tool_choice,
        )
        reply = blocking(ask(settings, request))
        if reply.finish in ("length", "unknown"):
            why = "was cut off" if reply.finish == "length" else f"ended with {reply.ended_with!r}"
            raise FatalModelError(f"the reply of {settings.model} {why}", hint="raise max_completion_tokens")
        said = bool(reply.text or reply.tool_calls)
        return ChatReply(
            reply.text, reply.finish, believable(reply.usage, answered=said), reply.model, reply.tool_calls
        )


def _asked(system: str, user: str) -> tuple[Message, ...]:
    return (Message("system", system), Message("user", user)) if system else (Message("user", user),)


_ROUTER = Router()
set_target_backend = _ROUTER.set_target_backend
set_optimizer_backend = _ROUTER.set_optimizer_backend
chat_target = _ROUTER.chat_target
chat_optimizer = _ROUTER.chat_optimizer
chat_messages = _ROUTER.chat_messages
