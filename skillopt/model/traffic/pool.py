"""The endpoints of one run: a limiter and a circuit breaker for each, shared by every role that calls it.

The pool belongs to the run and ends with it; nothing is kept at module level.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.model.traffic.breaker import IDENTICAL_FAILURES, Breaker
from skillopt.model.traffic.limiter import Limiter
from skillopt.model.traffic.outage import OutagePolicy


@dataclass(frozen=True)
class Limits:
    """What the configuration says about one role's endpoint. None means no such limit."""

    width: int = 8
    ceiling: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


@dataclass
class LimiterPool:
    """Limiters and breakers by endpoint name. `identical_failures` is the breakers' limit, `outages` says how long an
    endpoint that has answered before is waited for."""

    identical_failures: int = IDENTICAL_FAILURES
    outages: OutagePolicy = field(default_factory=OutagePolicy)
    _limiters: dict[str, Limiter] = field(default_factory=dict[str, Limiter])
    _breakers: dict[str, Breaker] = field(default_factory=dict[str, Breaker])
    _told: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def limiter(self, endpoint: str, limits: Limits | None = None) -> Limiter:
        """The endpoint's limiter. Of two roles' limits the larger width and the stricter rate are in force."""
        found = self._limiters.get(endpoint)
        if found is None:
            limits = limits or Limits()
            found = Limiter(
                limits.width,
                ceiling=limits.ceiling,
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            )
            self._limiters[endpoint] = found
        elif limits is not None:
            found.widen(limits.width, limits.ceiling)
            found.restrict(limits.requests_per_minute, limits.tokens_per_minute)
        return found

    def limiters(self) -> list[tuple[str, Limiter]]:
        """All of them, by endpoint."""
        return list(self._limiters.items())

    def resize(self, width: int) -> None:
        """Another width for every endpoint, wider or narrower: somebody has said so while the run is on."""
        for each in self._limiters.values():
            each.resize(width)

    def first(self, endpoint: str, topic: str) -> bool:
        """True the first time that this topic comes up at an endpoint: what is told once."""
        if (endpoint, topic) in self._told:
            return False
        self._told.add((endpoint, topic))
        return True

    def breaker(self, endpoint: str) -> Breaker:
        """The endpoint's circuit breaker."""
        found = self._breakers.get(endpoint)
        if found is None:
            found = Breaker(
                endpoint,
                limit=self.identical_failures,
                policy=self.outages,
                recovered=lambda: self.limiter(endpoint).recovered(),
            )
            self._breakers[endpoint] = found
        return found
