"""Shared pieces of the model floor's tests: a watchful meter, quick backoff and requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skillopt.model.client import Client
from skillopt.model.providers.openai_compatible import CompatibleBackend, CompatibleSettings
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.traffic.retry import Backoff
from skillopt.model.types import ChatRequest, Message, Usage
from skillopt.store.journal import Journal

# The simulated provider lives outside the package.


class QuickBackoff(Backoff):
    """Waits as the server asks, otherwise hardly at all; remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float | None] = []

    def wait(self, attempt: int, error: BaseException | None) -> float:
        self.asked.append(getattr(error, "retry_after", None))
        return super().wait(attempt, error) if self.asked[-1] is not None else 0.001


@dataclass
class WatchfulMeter:
    """Counts reservations; every ticket must be settled or released exactly once."""

    open: set[int] = field(default_factory=set)
    reserved: list[dict[str, Any]] = field(default_factory=list)
    settled: list[tuple[Usage, float | None]] = field(default_factory=list)
    released: int = 0
    most_open: int = 0
    refuse: Exception | None = None

    async def reserve(self, **what: Any) -> int:
        if self.refuse is not None:
            raise self.refuse
        self.reserved.append(what)
        self.open.add(len(self.reserved))
        self.most_open = max(self.most_open, len(self.open))
        return len(self.reserved)

    def settle(self, ticket: int, *, usage: Usage, usd: float | None) -> None:
        self.open.remove(ticket)
        self.settled.append((usage, usd))

    def begin(self, ticket: Any) -> None:
        """Nothing is remembered."""

    def release(self, ticket: int) -> None:
        self.open.remove(ticket)
        self.released += 1


@dataclass
class Rig:
    """One client with everything around it in reach."""

    client: Client
    meter: WatchfulMeter
    journal: Journal
    pool: LimiterPool
    backoff: QuickBackoff
    told: list[Any] = field(default_factory=list)

    async def chat(self, text: str = "hello", **more: Any) -> Any:
        return await self.client.chat(ask(text, **more))


def ask(text: str = "hello", *, system: str = "be brief", stage: str = "rollout", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(Message("system", system), Message("user", text)), stage=stage, **more)


def compatible(url: str, *, model: str = "gpt-4o-mini", **more: Any) -> CompatibleBackend:
    return CompatibleBackend(CompatibleSettings(model=model, base_url=url, **more))
