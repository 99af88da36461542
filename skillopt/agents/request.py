"""What an agent run is asked, of whom, and what it is expected to cost. `agents.run` holds the run itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from skillopt.agents.settings import AgentSettings
from skillopt.agents.workspace import Workspace
from skillopt.model.prices import Price
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.limiter import Limiter
from skillopt.model.traffic.retry import Backoff
from skillopt.model.types import Meter, Usage

_FIRST_PROMPT_TOKENS = 60_000


_FIRST_COMPLETION_TOKENS = 4_000
"""Reserved for a run before any run has told what one costs: a few turns with an agent's own long instructions."""


@dataclass
class Expected:
    """What to reserve for a run: the largest seen so far. A run's spend is not known before its end, so a cap can be
    passed by what the runs in flight use beyond it."""

    prompt_tokens: int = _FIRST_PROMPT_TOKENS
    completion_tokens: int = _FIRST_COMPLETION_TOKENS
    known: bool = False

    def learn(self, usage: Usage) -> None:
        """A run has ended."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return
        if not self.known:
            self.prompt_tokens, self.completion_tokens, self.known = usage.prompt_tokens, usage.completion_tokens, True
        self.prompt_tokens = max(self.prompt_tokens, usage.prompt_tokens)
        self.completion_tokens = max(self.completion_tokens, usage.completion_tokens)


class Owner(Protocol):
    """What a run needs of the agent it belongs to."""

    settings: AgentSettings
    meter: Meter
    limiter: Limiter
    breaker: Breaker
    backoff: Backoff
    price: Price | None
    expected: Expected

    @property
    def model(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def executable(self) -> str: ...

    def new_place(self) -> Path:
        """A directory for one try, not existing yet."""
        ...


@dataclass(frozen=True)
class AgentRequest:
    """What a run is asked. `mark` proves that the skill was read; `injected` says that the prompt holds it anyway."""

    workspace: Workspace
    key: str
    stage: str
    mark: str
    injected: bool
    priority: int = 0
    deadline_s: float = 600.0
    files: bool = False
    """Whether what the program leaves in its workspace is part of the answer."""
    others: Mapping[str, str] | None = None
    """Marks of other skills by name, where it is measured which ones the agent loads."""
    label: str = "question"
    """Whom a kept workspace is named after."""
