"""Shared answers on another machine: looked up many at a time, off the event loop, and never in the way of a run.

Keys that are asked for in one turn of the loop are one question. It gets 50 ms; three that took longer in a row, or one
that failed, and nobody is asked any more: its outage costs hits, no answer and no time. A program that speaks to the
server (`Answers`) is given; this module imports none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from skillopt.core.errors import JournalError
from skillopt.store.database import Row

ANSWER_S, CONNECT_S = 0.05, 3.0
_TOO_SLOW = 3


class Answers(Protocol):
    """A connection to shared answers, used by one thread. Every method raises `JournalError`."""

    def find_many(self, keys: Sequence[str]) -> Mapping[str, Row]:
        """`(seq, *COLUMNS)` of the keys that are known."""
        ...

    def insert_many(self, rows: list[Row]) -> None:
        """Add rows; a key that is there keeps its first value."""
        ...

    def close(self) -> None: ...

    def abandon(self) -> None:
        """Cut the connection, from any thread: whoever waits on it fails at once. Never raises."""
        ...


class RemoteAnswers(Protocol):
    """Where shared answers are, and how they are reached. `name` is for people, without credentials."""

    @property
    def name(self) -> str: ...

    def connect(self) -> Answers: ...


class RemoteReader:
    """See the module. `report` hears why nobody is asked any more."""

    def __init__(self, where: RemoteAnswers, report: Callable[[str], None]) -> None:
        self._where, self._report = where, report
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="skillopt-shared")
        self._answers: Answers | None = None
        self._waiting: dict[str, list[asyncio.Future[Row | None]]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._slow = 0
        self.off = False

    async def find(self, key: str) -> Row | None:
        """The shared row of a key; None where there is none, or nobody answers in time."""
        if self.off:
            return None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Row | None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._begin)
        self._waiting.setdefault(key, []).append(found)
        return await found

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, {}
        task = asyncio.ensure_future(self._ask(waiting))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, waiting: dict[str, list[asyncio.Future[Row | None]]]) -> None:
        rows: Mapping[str, Row] = {}
        try:
            limit = ANSWER_S if self._answers is not None else CONNECT_S + ANSWER_S
            work = asyncio.get_running_loop().run_in_executor(self._thread, self._look_up, list(waiting))
            rows = await asyncio.wait_for(work, limit)
            self._slow = 0
        except asyncio.TimeoutError:
            self._slow += 1
            if self._slow >= _TOO_SLOW or self._answers is None:
                self._switch_off(f"{self._where.name} takes longer than {1000 * ANSWER_S:g} ms")
        except JournalError as fault:
            self._switch_off(str(fault))
        finally:
            for key, futures in waiting.items():
                for future in futures:
                    if not future.done():
                        future.set_result(rows.get(key))

    def _look_up(self, keys: list[str]) -> Mapping[str, Row]:
        if self.off:
            return {}
        if self._answers is None:
            self._answers = self._where.connect()
        return self._answers.find_many(keys)

    def _switch_off(self, why: str) -> None:
        self.off = True
        self._report(f"shared answers are not used any more: {why}")

    def close(self) -> None:
        """Ask no more. What is under way is cut off: the interpreter waits for this thread when it ends."""
        self.off = True
        answers, self._answers = self._answers, None
        if answers is not None:
            answers.abandon()
            self._thread.submit(answers.close)
        self._thread.shutdown(wait=False)
