"""An observer behind a bounded queue, on a thread of its own: nothing it does can delay a run.

An `async` observer is awaited there, on a loop of its own. Events are put in without waiting; a full queue drops the
event and counts it. The observer's first exception is kept in `fault` and ends it, and what is queued behind is
discarded. At the end of its last run `finish` asks for what is left and `wait` gives it `drain_s` seconds; what is
still not told then is counted too, and its thread is left to itself.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing

from skillopt.records.events import Event

MOST = 10_000
"""Events that wait for one observer."""
DRAIN_S = 10.0
"""Seconds that a run's end waits for one observer."""


class Queued:
    """See the module. `drain_s` and `on_request` are the observer's own where it has them."""

    def __init__(self, observer: Callable[[Event], object], *, most: int = MOST, drain_s: float | None = None) -> None:
        self._observer = observer
        own: float = getattr(observer, "drain_s", DRAIN_S)
        self._drain_s = own if drain_s is None else drain_s
        self._queue: queue.Queue[Event | None] = queue.Queue(most)
        self._thread: threading.Thread | None = None
        self._ends_at: float | None = None
        self._runs = 0
        self.dropped = 0
        """Events that came while the queue was full."""
        self.fault: str | None = None
        """What the observer raised; None while all is well."""

    def __repr__(self) -> str:
        return named(self._observer)

    @property
    def on_request(self) -> Collection[str]:
        """The events that the observer asks for."""
        return getattr(self._observer, "on_request", ())

    def __call__(self, event: Event) -> None:
        """Take an event. Never waits, never raises."""
        if self.fault is not None:
            return
        if self._thread is None:
            context = contextvars.copy_context()
            self._thread = threading.Thread(
                target=context.run, args=(self._work,), name=f"observer {self!r}", daemon=True
            )
            self._thread.start()
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def join(self) -> None:
        """One more run is watched: several seeds share their observers."""
        self._runs += 1

    def finish(self) -> None:
        """A run is over: from the last one nothing more will come. Does not wait."""
        self._runs -= 1
        if self._runs <= 0 and self._thread is not None and self._ends_at is None:
            self._ends_at = time.monotonic() + self._drain_s

    def wait(self) -> str | None:
        """Wait until everything is told, as long as it may take. What was not, as a sentence; None when all was."""
        thread = self._thread
        if thread is None or self._ends_at is None:
            return None
        asked = False
        while thread.is_alive() and self._left():
            try:
                if not asked:
                    self._queue.put(None, timeout=min(0.1, self._left()))
                    asked = True
                thread.join(self._left())
            except queue.Full:  # it is busy, or has just fallen
                pass
        stuck, waiting = thread.is_alive(), self._queue.qsize() - asked
        self._thread = None
        if self.fault is not None or not (stuck or self.dropped):
            return None
        counts = [f"{self.dropped} events were dropped, because its queue was full"] if self.dropped else []
        if stuck:
            counts.append(f"it was still busy {self._drain_s:g} s after the end, with {waiting} more waiting")
        return f"observer {self!r} was too slow: {'; '.join(counts)}"

    def _left(self) -> float:
        return max(0.0, (self._ends_at or 0.0) - time.monotonic())

    def _work(self) -> None:
        with closing(asyncio.new_event_loop()) as loop:
            while self.fault is None and (event := self._queue.get()) is not None:
                try:
                    told = self._observer(event)
                    if inspect.isawaitable(told):
                        loop.run_until_complete(_awaited(told))
                except BaseException as error:  # noqa: BLE001 - it would end this thread and nothing would say so
                    self.fault = _sentence(self._observer, event, error)


async def _awaited(told: Awaitable[object]) -> None:
    await told


def fault_of(observer: Callable[[Event], object], event: Event) -> str | None:
    """Tell an observer. What it raised, as a sentence; None when all went well. Ctrl-C passes through."""
    try:
        observer(event)
    except Exception as error:  # noqa: BLE001 - foreign code: a paid run goes on; the fault is kept and told
        return _sentence(observer, event, error)
    return None


def _sentence(observer: object, event: Event, error: BaseException) -> str:
    return f"observer {named(observer)} failed on {event.name}: {type(error).__name__}: {error}"


def named(observer: object) -> str:
    """How an observer is called in a sentence: its own word for itself, or the name of its function or class."""
    if type(observer).__repr__ is not object.__repr__ and not hasattr(observer, "__name__"):
        return repr(observer)
    return str(getattr(observer, "__name__", type(observer).__name__))
