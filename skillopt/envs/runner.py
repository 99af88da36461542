"""The one batch runner: many rollouts at bounded width, delivered in item order.

`start_batch` begins at once and hands out rollouts as the prefix of the batch completes, whatever order the answers
come in, so that a decision taken on a prefix does not depend on speed or width. Missing outcomes are tried once more
when nothing else is left to start; until then their place in the order is held. A fault that ends the run cancels the
rest and is raised at the next delivery. Leaving the `async with` block, or `aclose()`, leaves nothing running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType

from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Env
from skillopt.envs.rollout import Call, Watch, run_one
from skillopt.envs.scoring import UNAIDED, Scoring
from skillopt.model.types import ChatModel
from skillopt.records.events import StageProgress
from skillopt.records.vocabulary import Stage


async def run_batch(
    env: Env,
    items: Sequence[Item],
    skill: Skill,
    target: ChatModel,
    *,
    stage: Stage,
    progress: Callable[[StageProgress], None],
    width: int,
    repeat: int = 0,
    priority: int = 0,
    scoring: Scoring = UNAIDED,
    watch: Watch | None = None,
) -> list[Rollout]:
    """All rollouts, in item order. Raises `StopRun`, `ReplayMiss`, `DataError` after everything else has stopped."""
    async with start_batch(
        env,
        items,
        skill,
        target,
        stage=stage,
        progress=progress,
        width=width,
        repeat=repeat,
        priority=priority,
        scoring=scoring,
        watch=watch,
    ) as batch:
        return [rollout async for rollout in batch]


def start_batch(
    env: Env,
    items: Sequence[Item],
    skill: Skill,
    target: ChatModel,
    *,
    stage: Stage,
    progress: Callable[[StageProgress], None],
    width: int,
    repeat: int = 0,
    priority: int = 0,
    lookahead: int | None = None,
    scoring: Scoring = UNAIDED,
    watch: Watch | None = None,
) -> Batch:
    """Begin a batch on the running loop. `width` calls are in flight; `lookahead` bounds how many rollouts may be begun
    beyond the last one delivered (None: no bound), which bounds both memory and work that an early stop throws away."""
    if width < 1:
        raise ConfigError(f"the width of a batch must be at least 1, got {width}", hint="set env.workers")
    call = Call(stage=stage, repeat=repeat, priority=priority, scoring=scoring, watch=watch)
    window = len(items) if lookahead is None else max(lookahead, width)
    return Batch(env, items, skill, target, call, progress=progress, width=width, window=window)


class Batch:
    """A running batch: an async iterator of rollouts in item order, and an async context manager that ends it.

    Everything happens on one event loop, between awaits, so there is no lock: `_landed` runs as a task's callback.
    """

    def __init__(
        self,
        env: Env,
        items: Sequence[Item],
        skill: Skill,
        target: ChatModel,
        call: Call,
        *,
        progress: Callable[[StageProgress], None],
        width: int,
        window: int,
    ) -> None:
        self._env, self._items, self._skill, self._target, self._call = env, items, skill, target, call
        self._progress, self._width, self._window = progress, width, window
        self._running: dict[asyncio.Task[Rollout], tuple[int, bool]] = {}
        self._done: dict[int, Rollout] = {}
        self._deferred: dict[int, Rollout] = {}
        self._next = self._head = self._finished = self._missing = 0
        self._hard = 0.0
        self._error: BaseException | None = None
        self._closed = False
        self._wake: asyncio.Future[None] | None = None
        self._fill()

    @property
    def started(self) -> int:
        """How many items have been begun so far."""
        return self._next

    def __aiter__(self) -> Batch:
        return self

    async def __anext__(self) -> Rollout:
        while True:
            if self._error is not None:
                await self.aclose()
                raise self._error
            if self._closed or self._head == len(self._items):
                raise StopAsyncIteration
            if self._head in self._done:
                rollout = self._done.pop(self._head)
                self._head += 1
                self._fill()
                return rollout
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake

    def cancel(self) -> None:
        """Start nothing more and cancel what runs; `aclose()` waits for it."""
        self._closed = True
        for task in self._running:
            task.cancel()
        self._wake_up()

    async def aclose(self) -> None:
        """Cancel and wait until nothing runs. Idempotent."""
        self.cancel()
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)
            # From Python 3.12 on a gathering of ended tasks does not give way, and what takes them out is a callback.
            await asyncio.sleep(0)

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _fill(self) -> None:
        """Start as much as width and window allow: new items first; the missing ones once no first attempt runs."""
        while not self._closed and len(self._running) < self._width:
            if self._next < len(self._items) and self._next - self._head < self._window:
                self._start(self._next, again=False)
                self._next += 1
            elif self._deferred and all(again for _, again in self._running.values()):
                index = min(self._deferred)
                del self._deferred[index]
                self._start(index, again=True)
            else:
                return

    def _start(self, index: int, *, again: bool) -> None:
        coroutine = run_one(self._env, self._items[index], self._skill, self._target, self._call)
        task = asyncio.get_running_loop().create_task(coroutine)
        self._running[task] = (index, again)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[Rollout]) -> None:
        index, again = self._running.pop(task)
        if task.cancelled():
            if not self._closed:
                self._fail(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self._fail(error)
        else:
            self._take(task.result(), index, again)
        self._fill()
        if self._head in self._done or self._closed:
            self._wake_up()

    def _take(self, rollout: Rollout, index: int, again: bool) -> None:
        if isinstance(rollout.outcome, Missing) and not again:
            self._deferred[index] = rollout
            return
        self._done[index] = rollout
        try:
            self._report(rollout)
        except Exception as fault:  # noqa: BLE001  raised to the consumer: a callback's own fault would reach nobody
            self._fail(fault)

    def _report(self, rollout: Rollout) -> None:
        self._finished += 1
        scored = rollout.scored
        if scored is None:
            self._missing += 1
        else:
            self._hard += scored.hard
        measured = self._finished - self._missing
        self._progress(
            StageProgress(
                stage=self._call.stage,
                done=self._finished,
                total=len(self._items),
                missing=self._missing,
                hard=self._hard / measured if measured else None,
            )
        )

    def _fail(self, error: BaseException) -> None:
        """The first fault wins; the rest is cancelled and the consumer is woken to raise it."""
        if self._error is None and not self._closed:
            self._error = error
        self.cancel()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
