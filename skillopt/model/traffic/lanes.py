"""Several endpoints that serve one role together: which of them a call goes to.

Prompts that begin alike go to one endpoint, whose cache then knows them; weights say how prompts that begin differently
are shared out (rendezvous hashing, so an endpoint that comes or goes moves only its own share). Where that endpoint is
full, refuses, or is down, the next one of the same order takes the call: it is always the same one, so that its cache
learns the prompt too. An endpoint that is given up is closed for the run; the last one ends it.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from skillopt.core.hashing import canonical_json, digest
from skillopt.core.json_types import JsonObject
from skillopt.model.prices import Price
from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.limiter import Limiter
from skillopt.model.types import Backend

SHORTEST_REST_S, LONGEST_REST_S = 0.5, 30.0


@dataclass(eq=False)
class Lane:
    """One endpoint: who asks it, what it takes, how it is doing. `closed` says why it is asked no more."""

    backend: Backend
    limiter: Limiter
    breaker: Breaker
    price: Price | None
    weight: float = 1.0
    closed: str = ""
    clock: Callable[[], float] = time.monotonic
    _rest_s: float = SHORTEST_REST_S
    _rests_until: float = 0.0

    @property
    def name(self) -> str:
        """The endpoint."""
        return self.backend.endpoint

    @property
    def load(self) -> float:
        """Calls that are there or wait for it, beside what it takes."""
        return (self.limiter.busy + self.limiter.waiting) / self.limiter.width

    @property
    def rests(self) -> bool:
        """Whether it has just failed: others are asked meanwhile, where there are others."""
        return self.clock() < self._rests_until

    def rest(self) -> None:
        """A call got no answer: half a second's rest, and twice as long each time in a row."""
        self._rests_until = self.clock() + self._rest_s
        self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)

    def well(self) -> None:
        """It answered."""
        self._rest_s, self._rests_until = SHORTEST_REST_S, 0.0

    @property
    def free(self) -> bool:
        """Whether a call would be sent at once."""
        limiter = self.limiter
        return limiter.busy < limiter.width and not limiter.waiting and not limiter.paused_for


@dataclass
class Lanes:
    """See the module. `say` tells people when one is closed."""

    every: Sequence[Lane]
    say: Callable[[str], None]
    _orders: dict[str, list[Lane]] = field(default_factory=dict[str, "list[Lane]"])

    @property
    def open(self) -> list[Lane]:
        """Those that are still asked."""
        return [lane for lane in self.every if not lane.closed]

    def identity(self) -> JsonObject:
        """What of them can change an answer: that of one where all serve the same, else the list of what they serve."""
        found = {canonical_json(each): each for each in (dict(lane.backend.identity()) for lane in self.every)}
        if len(found) == 1:
            return next(iter(found.values()))
        return {"kind": "pool", "members": [found[text] for text in sorted(found)]}

    def order(self, prefix: str) -> list[Lane]:
        """All of them, the one whose cache knows prompts that begin so first."""
        known = self._orders.get(prefix)
        if known is None:
            if len(self._orders) > 10_000:
                self._orders.clear()
            known = sorted(self.every, key=lambda lane: _score(prefix, lane), reverse=True)
            self._orders[prefix] = known
        return known

    def choose(self, prefix: str, without: Collection[Lane], shut: Collection[Lane] = ()) -> Lane | None:
        """Where a call goes now; `without` are those that have just failed it, asked again only where nobody else is,
        `shut` those that take no call for the moment. None while none takes any."""
        up = [lane for lane in self.order(prefix) if not lane.closed and lane not in shut and lane.breaker.may_try]
        fresh = [lane for lane in up if lane not in without and not lane.rests]
        fresh = fresh or [lane for lane in up if lane not in without] or up
        if not fresh:
            return None
        return next((lane for lane in fresh if lane.free), None) or min(fresh, key=lambda lane: lane.load)

    def close(self, lane: Lane, reason: str) -> bool:
        """Ask it no more. False when it is the last one."""
        if len(self.open) < 2:
            return False
        lane.closed = reason
        self.say(f"warning: {lane.name} is asked no more: {reason}; {len(self.open)} of {len(self.every)} go on")
        return True


def prefix_of(texts: Sequence[str]) -> str:
    """What prompts have in common that begin with the same system texts."""
    return digest({"prefix": list(texts)})


def _score(prefix: str, lane: Lane) -> float:
    """Rendezvous hashing with weights: the highest score wins, each lane as often as its weight says."""
    drawn = hashlib.sha256(f"{prefix} {lane.name} {lane.backend.model}".encode()).digest()
    share = (int.from_bytes(drawn[:8], "big") + 1) / (2**64 + 2)
    return -lane.weight / math.log(share)
