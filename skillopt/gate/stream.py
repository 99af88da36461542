"""Feeding a gate: units are measured concurrently, decided on in order.

Verdicts depend on ordered prefixes only, never on arrival order, so any width gives the same bytes. Units that the gate
certainly needs are launched first; beyond them some are started on speculation, and cancelled when the gate settles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from skillopt.core.aio import stop

T = TypeVar("T")


class Decision(Protocol):
    """What the stream needs of a gate."""

    @property
    def seen(self) -> int: ...

    @property
    def settled(self) -> bool: ...

    def needed(self) -> int: ...

    def observe(self, value: float | None) -> None: ...


async def drive(
    decision: Decision,
    total: int,
    measure: Callable[[int, bool], Coroutine[Any, Any, T]],
    value: Callable[[T], float | None],
    *,
    width: int,
    speculation: int,
) -> list[T]:
    """Measure units `decision.seen … total-1` in order until the gate settles; returns the results of that prefix.

    `measure(position, certain)` runs one unit; `certain` is False for one started on speculation. At most `width` are
    under way, whatever the slowest of them does. For each unit that is certainly needed up to `speculation` further
    ones are begun, two widths at most: a gate that still waits for many losses looks far ahead, one that waits for the
    last does not, and a slow answer at the head costs no more than that. On error or cancellation nothing is left
    running.
    """
    running: dict[int, asyncio.Task[T]] = {}
    results: list[T] = []
    launched = position = decision.seen
    free = width
    landed = asyncio.Event()

    def land(_: asyncio.Task[T]) -> None:
        nonlocal free
        free += 1
        landed.set()

    def launch() -> None:
        nonlocal launched, free
        needed = max(1, decision.needed())
        limit = min(total, position + needed + min(2 * width, needed * speculation))
        while launched < limit and free:
            task = asyncio.ensure_future(measure(launched, launched < position + needed))
            task.add_done_callback(land)
            running[launched] = task
            launched, free = launched + 1, free - 1

    try:
        while not decision.settled:
            launch()
            head = running[position]
            if not head.done():
                landed.clear()
                await landed.wait()
                continue
            result = running.pop(position).result()
            results.append(result)
            decision.observe(value(result))
            position += 1
    finally:
        await stop(list(running.values()))
    return results
