"""A driver at internet scale, simulated: 10^5 items, 1,000 places, 50 endpoints with different limits.

    python benchmarks/internet_scale.py [--items 100000] [--places 1000] [--endpoints 50]

Discrete events: a rollout takes a place, chooses an endpoint by its prefix (the product's rule: first free one in the
prefix's order, else the least loaded), waits for a place there, is answered after a lognormal time. Before and after
each answer it needs the one driver process, first come first served, for measured processor times: what a call costs
the client, what a journal commit costs, and what choosing an endpoint costs, which is measured here on the product's
own `Lanes`, half of the places waiting. The driver is the bottleneck where its utilisation comes near 1.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import itertools
import math
import random
import time
from dataclasses import dataclass
from typing import Any

from skillopt.model.traffic.breaker import Breaker
from skillopt.model.traffic.lanes import Lane, Lanes
from skillopt.model.traffic.limiter import Limiter

CALL_S = 0.0017
"""Driver CPU a call (benchmarks/LOG.md, client_cpu)."""
COMMIT_S = 0.0001
"""A journal commit: the figure that `journal_scale.py` has to meet."""


class Somewhere:
    """A backend that is only named."""

    def __init__(self, number: int) -> None:
        self.endpoint, self.model = f"http://e{number}/v1", "m"

    def identity(self) -> dict[str, Any]:
        return {"model": self.model}


def measured_choice(endpoints: int, places: int, count: int = 2_000) -> float:
    """Seconds that the product takes to choose, all endpoints full and the rest of the places waiting."""
    return asyncio.run(_measured(endpoints, places, count))


async def _measured(endpoints: int, places: int, count: int) -> float:
    lanes: list[Lane] = []
    waiting: list[asyncio.Task[None]] = []

    async def wait_for(limiter: Limiter) -> None:
        async with limiter.place():
            pass

    for number in range(endpoints):
        limiter = Limiter(max(1, places // (2 * endpoints)))
        limiter.busy = limiter.width
        waiting += [asyncio.ensure_future(wait_for(limiter)) for _ in range(places // (2 * endpoints))]
        backend: Any = Somewhere(number)
        lanes.append(Lane(backend, limiter, Breaker(backend.endpoint), None))
    await asyncio.sleep(0)
    every = Lanes(lanes, lambda text: None)
    every.choose("p", ())
    started = time.process_time()
    for _ in range(count):
        every.choose("p", ())
    taken = (time.process_time() - started) / count
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return taken


@dataclass
class Found:
    """What a simulated run came to."""

    hours: float
    calls_s: float
    driver: float
    waited_s: float


def simulate(items: int, places: int, widths: list[int], median_s: list[float], cpu_s: float) -> Found:
    """One pass over all items; half of the driver's time before the answer, half after it."""
    luck, order = random.Random(1), itertools.count()
    busy, queue = [0] * len(widths), [list[int]() for _ in widths]
    events: list[tuple[float, int, str, int]] = []
    driver_free = driver_used = waited = now = 0.0
    begun = done = 0

    def driver(at: float) -> float:
        nonlocal driver_free, driver_used, waited
        start = max(at, driver_free)
        waited += start - at
        driver_free, driver_used = start + cpu_s / 2, driver_used + cpu_s / 2
        return driver_free

    def put(at: float, what: str, which: int) -> None:
        heapq.heappush(events, (at, next(order), what, which))

    def sends(at: float, which: int) -> None:
        busy[which] += 1
        put(at + median_s[which] * math.exp(luck.gauss(0, 0.6)), "answered", which)

    for _ in range(min(places, items)):
        begun += 1
        put(driver(0.0), "ready", 0)
    while events:
        now, _, what, which = heapq.heappop(events)
        if what == "ready":
            free = next((n for n, width in enumerate(widths) if busy[n] < width), None)
            if free is not None:
                sends(now, free)
            else:
                queue[min(range(len(widths)), key=lambda n: (busy[n] + len(queue[n])) / widths[n])].append(0)
        elif what == "answered":
            busy[which] -= 1
            if queue[which]:
                queue[which].pop()
                sends(now, which)
            put(driver(now), "stored", which)
        else:
            done += 1
            if begun < items:
                begun += 1
                put(driver(now), "ready", 0)
    return Found(now / 3600, done / now, driver_used / now, waited / (2 * done))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--items", type=int, default=100_000)
    asked.add_argument("--places", type=int, default=1_000)
    asked.add_argument("--endpoints", type=int, default=50)
    given = asked.parse_args()
    luck = random.Random(0)
    widths = [luck.choice((4, 8, 16, 32, 64)) for _ in range(given.endpoints)]
    choice = measured_choice(given.endpoints, given.places)
    print(f"{given.endpoints} endpoints take {sum(widths)} calls at once; choosing one costs {1e6 * choice:.0f} us")
    for name, median in (("agents, 120 s", 120.0), ("chat, 5 s", 5.0), ("small model, 1 s", 1.0)):
        speeds = [median * luck.uniform(0.5, 2.0) for _ in widths]
        found = simulate(given.items, given.places, widths, speeds, CALL_S + COMMIT_S + choice)
        print(
            f"{name:17} {found.hours:7.2f} h, {found.calls_s:6.1f} calls/s, driver {100 * found.driver:5.1f} % busy, "
            f"a call waits {1e3 * found.waited_s:8.2f} ms for it; {found.calls_s * 86_400 * 7 / 1e6:.1f} million a week"
        )


if __name__ == "__main__":
    main()
