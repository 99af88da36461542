"""A run that can be steered while it goes on: paused, stopped in order, given other caps or another width.

Orders come through `records.live.control`. Nothing that a run finds depends on them: a pause keeps calls from being
begun, a stop is the same as Ctrl-C in a Python program, caps end a run sooner or later, and the width changes speed.
The pulse is written here too. A disk that is full costs the pulse, never the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from skillopt.core.errors import Interrupted, SkillOptError
from skillopt.engine.run.spending.budget import Budget
from skillopt.model.traffic.pool import LimiterPool
from skillopt.records.codec import encode_record
from skillopt.records.directory import RunDir
from skillopt.records.events import Emit, Event, OrderTaken, StageEnd, StageProgress, StageStart
from skillopt.records.live.control import PULSE, WORKERS, Order, Orders, Places, Pulse, figure
from skillopt.store.atomic import write_json

LOOK_S = 0.3
"""How often orders are looked for."""
PULSE_S = 1.0
"""The least time between two pulses."""
STILL_S = 15.0
"""A pulse is written at least so often, so that a reader can tell a run that is alive."""


@dataclass
class Steering:
    """See the module. Owned by one process of a run; everything happens on its event loop."""

    run_dir: RunDir
    budget: Budget
    pool: LimiterPool
    emit: Emit
    workers: int
    """How many rollouts are under way at a time."""
    wished: Callable[[], None] | None = None
    """What else ends the run, Ctrl-C for one: raises `StopRun`."""
    stopping: bool = False
    _orders: Orders = field(init=False)
    _going: asyncio.Event = field(default_factory=asyncio.Event)
    _paused_at: float = 0.0
    _now: Pulse = field(default_factory=Pulse)
    _told: Pulse = field(default_factory=Pulse)
    _told_at: float = float("-inf")
    _ended: bool = False
    _pen: threading.Lock = field(default_factory=threading.Lock)
    """Held while the pulse is written, by a thread or by the end."""

    def __post_init__(self) -> None:
        self._orders = Orders(self.run_dir.root)
        self._going.set()
        with contextlib.suppress(SkillOptError):
            self.run_dir.remove(PULSE)  # what a process said that was killed is no pulse of this one

    @property
    def paused(self) -> bool:
        """Whether no call may be begun now."""
        return not self._going.is_set()

    async def gate(self) -> None:
        """Passed before each call: waits while the run is paused. Raises `Interrupted` once it is to end."""
        await self._going.wait()
        self.check()

    def check(self) -> None:
        """Raises `Interrupted` once the run is to end; asked also while a call waits for its batch or its endpoint."""
        if self.wished is not None:
            self.wished()
        if self.stopping:
            raise Interrupted("stopped by an order; the same run started again goes on from here")

    def take(self) -> None:
        """Carry out what was ordered since the last time, and tell it."""
        try:
            new = self._orders.new()
        except OSError:  # unreadable now: it is looked at again
            return
        for order in new:
            effect = self._carry_out(order)
            self.emit(OrderTaken(order=order.order, key=order.key, value=order.value, by=order.by, effect=effect))

    def _carry_out(self, order: Order) -> str:
        if order.order == "pause":
            if self.paused or self.stopping:
                return "nothing to do"
            self._paused_at = time.monotonic()
            self._going.clear()
            return "no call is begun until resume"
        if order.order == "resume":
            return self._resume()
        if order.order == "stop":
            self.stopping = True
            self._resume()
            return "no call is begun any more"
        return self._set(order)

    def _resume(self) -> str:
        if not self.paused:
            return "nothing to do"
        self.budget.idle_s += time.monotonic() - self._paused_at
        self._going.set()
        return "goes on"

    def _set(self, order: Order) -> str:
        if order.key == WORKERS and order.value is not None:
            self.workers = int(order.value)
            self.pool.resize(self.workers)
            return f"{self.workers} calls at a time"
        name = order.key.rpartition("max_")[2]
        self.budget.cap(replace(self.budget.limits, **{name: order.value}))
        self.budget.tell()
        return "no cap" if order.value is None else f"the cap is {figure(order.value)}"

    def observe(self, event: Event) -> None:
        """Progress within a stage, for the pulse."""
        if isinstance(event, StageStart):
            self._now = replace(
                self._now, stage=event.stage, step=event.step, done=0, total=event.total or 0, missing=0, hard=None
            )
        elif isinstance(event, StageProgress):
            self._now = replace(
                self._now, stage=event.stage, step=event.step, done=event.done, total=event.total,
                missing=event.missing, hard=event.hard,
            )  # fmt: skip
        elif isinstance(event, StageEnd) and event.stage is self._now.stage:
            self._now = replace(self._now, stage=None, done=0, total=0, missing=0, hard=None)

    def beat(self) -> Pulse:
        """This moment."""
        used, limits = self.budget.used, self.budget.limits
        idle = time.monotonic() - self._paused_at if self.paused else 0.0
        places = {
            name: Places(busy=each.busy, width=each.width, waiting=each.waiting) for name, each in self.pool.limiters()
        }
        return replace(
            self._now, pid=os.getpid(), paused=self.paused, stopping=self.stopping, calls=round(used.calls),
            tokens=round(used.tokens), usd=None if self.budget.usd_unknown else round(used.usd, 6),
            seconds=round(self.budget.wall_s - idle, 1), workers=self.workers, max_calls=limits.calls,
            max_tokens=limits.tokens, max_usd=limits.usd, max_hours=limits.hours, places=places,
        )  # fmt: skip

    async def watch(self) -> None:
        """Look for orders and write the pulse until cancelled. Nothing waits for a resume that nobody would see."""
        try:
            while True:
                self.take()
                await self._tell()
                await asyncio.sleep(LOOK_S)
        finally:
            self._going.set()

    async def _tell(self) -> None:
        """Write the pulse where something besides the clock has changed, and now and then anyway."""
        now = time.monotonic()
        if now - self._told_at < PULSE_S:
            return
        beat = self.beat()
        if now - self._told_at < STILL_S and replace(beat, seconds=0.0) == replace(self._told, seconds=0.0):
            return
        self._told, self._told_at = beat, now
        with contextlib.suppress(OSError, SkillOptError):  # see the module
            await asyncio.to_thread(self._write, beat)

    def _write(self, beat: Pulse, *, last: bool = False) -> None:
        with self._pen:
            if not self._ended:  # one that was under way when the run ended comes too late
                self._ended = last
                body = encode_record(replace(beat, time=round(time.time(), 3)))
                write_json(self.run_dir.root / PULSE, body, durable=False)

    def end(self) -> None:
        """The last pulse: nothing is under way any more."""
        with contextlib.suppress(OSError, SkillOptError):
            self._write(replace(self.beat(), stage=None, done=0, total=0, missing=0, hard=None, places={}), last=True)


@asynccontextmanager
async def steered(steering: Steering) -> AsyncGenerator[Steering]:
    """Orders are taken while the block runs."""
    task = asyncio.get_running_loop().create_task(steering.watch())
    try:
        yield steering
    finally:
        task.cancel()
        await asyncio.wait({task})
        steering.end()
