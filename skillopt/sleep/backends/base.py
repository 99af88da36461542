"""One plain question to a model and its answer, whoever gives it.

A backend raises the house's model errors (`core.errors`): a failure is never an answer. It keeps nothing between
questions; journal, caps and the circuit breaker are its caller's business (`sleep.calls`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from skillopt.core.json_types import JsonObject


@dataclass(frozen=True)
class Question:
    """`id` is the call's key: 64 hex digits, different for every sample."""

    id: str
    prompt: str
    schema: JsonObject | None = None
    max_tokens: int = 2_000


@dataclass(frozen=True)
class Answer:
    """A model's text. None in a count means that the program did not say. `cut`: it ended at its limit of tokens."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usd: float | None = None
    cut: bool = False


class Backend(Protocol):
    """See the module."""

    @property
    def name(self) -> str:
        """`claude`, `codex`, `copilot`, `openai_compatible`, `handoff` or `demo`."""
        ...

    @property
    def model(self) -> str:
        """The model asked for; blank where the program chooses."""
        ...

    @property
    def overhead(self) -> int:
        """Tokens that the program itself adds to every prompt, about."""
        ...

    async def ask(self, question: Question) -> Answer:
        """The answer. Raises `ModelError`, `HandoffPending`. Cancellation leaves no process."""
        ...
