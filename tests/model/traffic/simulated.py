"""A provider in virtual time, and a crowd of calls that goes through a limiter to it."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from skillopt.model.traffic.limiter import Limiter

REFUSAL_S = 0.002


@dataclass
class Provider:
    """Refuses above `cap` calls in flight, a share `rate` of all, and above `per_minute` in any fixed minute."""

    cap: int | None = None
    rate: float = 0.0
    per_minute: int | None = None
    retry_after: float | None = 1.0
    median_s: float = 0.06
    seed: int = 1
    busy: int = 0
    refusals: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    minutes: dict[int, int] = field(default_factory=dict)

    async def ask(self) -> bool:
        """True when answered."""
        now = asyncio.get_running_loop().time()
        luck = random.Random(f"{self.seed}:{len(self.latencies)}:{len(self.refusals)}")
        minute = int(now // 60)
        self.minutes[minute] = self.minutes.get(minute, 0) + 1
        full = self.cap is not None and self.busy >= self.cap
        spent = self.per_minute is not None and self.minutes[minute] > self.per_minute
        if full or spent or luck.random() < self.rate:
            self.refusals.append(now)
            await asyncio.sleep(REFUSAL_S)
            return False
        latency = self.median_s * math.exp(0.6 * luck.gauss(0, 1))
        self.latencies.append(latency)
        self.busy += 1
        try:
            await asyncio.sleep(latency)
        finally:
            self.busy -= 1
        self.answered.append(asyncio.get_running_loop().time())
        return True


async def crowd(
    limiter: Limiter, provider: Provider, calls: int, *, workers: int = 24, each: Callable[[int], None] | None = None
) -> float:
    """`calls` calls by `workers` at a time, as a batch makes them; the seconds it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    numbers = iter(range(calls))
    luck = random.Random(7)

    async def work() -> None:
        for number in numbers:
            again = False
            if each is not None:
                each(number)
            while True:
                async with limiter.place(again=again) as place:
                    if await provider.ask():
                        place.succeeded()
                        break
                    place.overloaded(provider.retry_after)
                again = True
                wait = provider.retry_after or 1.0
                await asyncio.sleep(wait * luck.uniform(1.0, 1.1))

    await asyncio.gather(*(work() for _ in range(workers)))
    return loop.time() - began
