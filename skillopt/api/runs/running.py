"""The blocking form of a run: a thread of its own with an event loop of its own, while the caller waits.

So it works inside a running loop (a notebook), in any thread, and two at a time; no signal handler is installed and the
caller's loop is left alone. The first `KeyboardInterrupt` ends the run in order: no further call is made, what is in
flight is waited for, and the result says where it stopped. A second one leaves at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from skillopt.core.errors import Interrupted
from skillopt.engine.run.given import Interrupt

T = TypeVar("T")

_LOOK_S = 0.2
"""How often the waiting thread looks up, where waiting itself cannot be interrupted."""
_LEAVE_S = 10.0
"""How long a run that was cancelled may take to close its files and child processes."""


class _Run(Generic[T]):
    """One run in its thread."""

    def __init__(self, make: Callable[[Interrupt], Coroutine[object, object, T]]) -> None:
        self.interrupt = Interrupt()
        self.done = threading.Event()
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        """Begin in a thread that sees the caller's context variables."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._body,), name="skillopt-run", daemon=True).start()

    def _body(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            self.done.set()

    async def _main(self) -> None:
        """Wait for the run, whatever comes of it: `result` raises in the thread that waits."""
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._make(self.interrupt))
        await asyncio.wait({self._task})

    def cancel(self) -> None:
        """Stop at once. Idempotent."""
        if self._loop is not None and self._task is not None and not self.done.is_set():
            self._loop.call_soon_threadsafe(self._task.cancel)

    def result(self) -> T:
        """What came of it, or what it raised."""
        if self._task is None:
            raise RuntimeError("the thread of the run ended before the run had begun")
        return self._task.result()

    def wait(self, tick: Callable[[], object]) -> None:
        """Until it is over; `tick` is called meanwhile, in the waiting thread."""
        while not self.done.wait(_LOOK_S):
            tick()


def blocking(
    make: Callable[[Interrupt], Coroutine[object, object, T]], *, tick: Callable[[], object] = lambda: None
) -> T:
    """Run a coroutine to its end. `tick` is called a few times a second in the thread that waits. Raises what the
    coroutine raises, and `KeyboardInterrupt` where nothing had begun or on the second one."""
    run = _Run(make)
    run.start()
    try:
        run.wait(tick)
    except KeyboardInterrupt:
        run.interrupt.wish()
        try:
            run.wait(tick)
        except KeyboardInterrupt:
            run.cancel()
            run.done.wait(_LEAVE_S)
            raise
    try:
        return run.result()
    except Interrupted:
        raise KeyboardInterrupt("interrupted before the run had begun") from None
