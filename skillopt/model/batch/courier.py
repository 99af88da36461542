"""One batch on its way: handed over once, looked at until it has ended, its results brought back. Knows of no call.

A batch whose creation was not heard of is looked for before it is sent again. While it is waited for, failures of the
connection are waited out; whoever wants the run to end is heard every second. A batch that takes longer than allowed is
ended at the provider, and what it had answered is taken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.model.batch.book import Book, OpenBatch
from skillopt.model.batch.contract import BatchApi, BatchSettings, BatchState, Row, RowResult
from skillopt.model.traffic.retry import Backoff
from skillopt.model.types import ChatReply

T = TypeVar("T")

_ATTEMPTS = 5
_LOOK_UP_S = 1.0
_SLOWER = 1.5
_GRACE_S = 3_600.0
"""Beyond the time that is waited: a cancelled batch takes a while to end, and is given up where it does not."""


@dataclass(frozen=True)
class Courier:
    """See the module. `check` raises `StopRun` where the run is to end; `say` tells people."""

    api: BatchApi
    book: Book
    settings: BatchSettings
    backoff: Backoff
    say: Callable[[str], None]
    check: Callable[[], None]

    async def send(self, batch: OpenBatch, rows: Sequence[Row]) -> OpenBatch:
        """Hand the rows over, once. Raises `ModelError` when the provider does not take them."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self.book.named(batch, await self.api.send(rows, tag=batch.tag))
            except TransientModelError as error:
                if not error.overloaded:  # it may have been made all the same
                    found = await self.find(batch)
                    if found is not None:
                        return found
                if attempt == _ATTEMPTS:
                    raise
                await self._pause(self.backoff.wait(attempt, error))
        raise AssertionError("unreachable")

    async def find(self, batch: OpenBatch) -> OpenBatch | None:
        """The batch under the name that the provider gave it, if it was made at all."""
        known = self.book.names()
        name = await self._patiently(
            batch,
            lambda: self.api.find(batch.tag, rows=len(batch.stages), since=batch.sent_at, known=known),
        )
        return None if name is None else self.book.named(batch, name)

    async def fetch(self, batch: OpenBatch) -> dict[str, RowResult]:
        """Wait until it has ended; what came of its rows, by key: the first answer of one that came twice. Rows that
        were not answered may be missing."""
        state = await self._ended(batch)
        if state.reason:
            self.say(f"batch {batch.name} failed: {state.reason}; its {len(batch.stages)} calls are asked one by one")
            return {}
        try:
            found = await self._whole(batch)
        except FatalModelError as error:
            if error.cause not in ("address", "model"):
                raise
            self.say(f"the results of batch {batch.name} are gone ({error.message}); its calls are asked one by one")
            return {}
        results: dict[str, RowResult] = {}
        for key, result in found:
            if key in batch.stages and not isinstance(results.get(key), ChatReply):
                results[key] = result
        return results

    async def _whole(self, batch: OpenBatch) -> list[tuple[str, RowResult]]:
        """Its results. Where some stay cut however often they are read, those that can be read."""
        attempt = 1
        while True:
            found = await self._patiently(batch, lambda: self._results(batch))
            cut = next((result for key, result in found if not key and isinstance(result, TransientModelError)), None)
            if cut is None or attempt == _ATTEMPTS:
                return found
            await self._pause(self.backoff.wait(attempt, cut))
            attempt += 1

    async def _results(self, batch: OpenBatch) -> list[tuple[str, RowResult]]:
        found = [each async for each in self.api.results(batch.name)]
        faults = [result for key, result in found if not key and isinstance(result, TransientModelError)]
        if faults and len(faults) == len(found):  # a page of a proxy's, for one: no results at all
            raise faults[0]
        return found

    async def _ended(self, batch: OpenBatch) -> BatchState:
        name, pause, told = batch.name, min(_LOOK_UP_S, self.settings.poll_s), 0
        gives_up: float | None = None
        while True:
            state = await self._patiently(batch, lambda: self.api.state(name))
            if state.ended:
                return state
            if batch.cancelled or time.time() >= batch.sent_at + self.settings.wait_s:
                gives_up = gives_up or time.monotonic() + _GRACE_S
                if time.monotonic() >= gives_up:
                    return replace(state, ended=True, reason="it does not end, though it was asked to")
                batch = await self._cancel(batch)
            tenth = 10 * state.done // max(1, state.total)
            if tenth > told:
                told = tenth
                self.say(f"batch {batch.name}: {state.done} of {state.total} answered")
            await self._pause(pause)
            pause = min(_SLOWER * pause, self.settings.poll_s)

    async def _cancel(self, batch: OpenBatch) -> OpenBatch:
        """Ask for its end, once. A refusal may mean that it has ended by now, which the next look shows."""
        if batch.cancelled:
            return batch
        try:
            await self.api.cancel(batch.name)
        except (TransientModelError, FatalModelError):
            return batch
        self.say(f"batch {batch.name} has taken {self.settings.wait_s / 60:g} min: ended, the rest one by one")
        return self.book.cancelling(batch)

    async def _patiently(self, batch: OpenBatch, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer; connection faults are waited out as long as the batch itself would be."""
        attempt = 0
        while True:
            try:
                return await ask()
            except TransientModelError as error:
                attempt += 1
                if time.time() > batch.sent_at + self.settings.wait_s + _GRACE_S and attempt >= _ATTEMPTS:
                    raise
                if attempt == _ATTEMPTS:
                    self.say(f"waiting for batch {batch.name or batch.tag}: {error.message}")
                await self._pause(self.backoff.wait(min(attempt, 6), error))

    async def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            self.check()
            left = until - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LOOK_UP_S))
