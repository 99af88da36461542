"""The workers of one run on a cluster: begun when there is work for them, given to units in the order of asking.

Nobody is overtaken. A unit that comes again after a loss is given another node where there is one. Where several runs
share a cluster each keeps to its share, and a worker that has had nothing to do for a while is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from skillopt.core.aio import stop
from skillopt.core.errors import ConfigError
from skillopt.executors.ray import cluster
from skillopt.executors.ray.hiring import begun, hire, shares_actor
from skillopt.executors.ray.library import Method, ray_error
from skillopt.executors.ray.settings import RaySettings
from skillopt.executors.ray.worker import Gone, Worker
from skillopt.work.unit import Needs

_TEND_S = 2.0
_IDLE_S = 30.0
_END_S = 8.0


class _SharesHandle(Protocol):
    @property
    def ask(self) -> Method: ...
    @property
    def leave(self) -> Method: ...


@dataclass
class _Waiting:
    turn: asyncio.Future[Worker]
    needs: Needs
    avoid: frozenset[str]


class Crew:
    """Used on one event loop, changed between awaits."""

    def __init__(self, settings: RaySettings) -> None:
        self._settings = settings
        self._run = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._workers: list[Worker] = []
        self._starting = 0
        self._queue: deque[_Waiting] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._share: int | None = None
        self._cores = cluster.cores_of_cluster()
        self._fault: ConfigError | None = None
        self._shares: _SharesHandle | None = None
        self._refused = 0
        self._keep(self._tend())

    @property
    def workers(self) -> list[Worker]:
        """Those that can be given units."""
        return [worker for worker in self._workers if worker.alive]

    @property
    def cores(self) -> float:
        """All of the cluster, as last seen."""
        return self._cores

    @property
    def refused_so_far(self) -> int:
        """Late answers of workers that were given up."""
        return self._refused + sum(worker.refused for worker in self._workers)

    async def place(self, needs: Needs, avoid: frozenset[str] = frozenset()) -> Worker:
        """A worker with room, occupied. Raises `Gone` when none could be begun, `ConfigError` for a node that may not
        be used."""
        if self._fault is not None:
            raise self._fault
        waiting = _Waiting(asyncio.get_running_loop().create_future(), needs, avoid)
        self._queue.append(waiting)
        self._hand_out()
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            if not waiting.turn.cancelled() and waiting.turn.exception() is None:
                self.give_back(waiting.turn.result(), needs)
            self._hand_out()
            raise

    def give_back(self, worker: Worker, needs: Needs) -> None:
        """A unit has ended, or was lost with its worker."""
        worker.give_back(needs)
        self._hand_out()

    async def aclose(self) -> None:
        """End every worker and what it began."""
        await stop(list(self._tasks))
        if self._shares is not None:
            with contextlib.suppress(asyncio.TimeoutError, RuntimeError, ray_error()):
                await asyncio.wait_for(_answer(self._shares.leave.remote(self._run)), 1.0)
        await asyncio.gather(*(self._ended(worker) for worker in self._workers))

    def _hand_out(self) -> None:
        while self._queue:
            waiting = self._queue[0]
            if not waiting.turn.done():
                worker = self._best(waiting)
                if worker is None:
                    self._grow()
                    return
                worker.take(waiting.needs)
                waiting.turn.set_result(worker)
            self._queue.popleft()

    def _best(self, waiting: _Waiting) -> Worker | None:
        open_ones = [worker for worker in self._workers if worker.fits(waiting.needs)]
        if not open_ones:
            return None
        return min(open_ones, key=lambda worker: (worker.node in waiting.avoid, worker.units, -worker.free_cpu))

    def _grow(self) -> None:
        room = self._most() - len(self.workers) - self._starting
        for _ in range(min(room, len(self._queue) - self._starting)):
            self._starting += 1
            self._keep(self._begin())

    def _most(self) -> int:
        """Workers that this run may have."""
        settings = self._settings
        cores = settings.slots or self._cores
        most = max(1, int(cores / settings.cpus_per_worker)) if settings.cpus_per_worker else 1
        return most if self._share is None else min(most, self._share)

    async def _begin(self) -> None:
        worker = hire(self._settings)
        try:
            await begun(worker, self._settings)
        except Gone as error:
            self._fail(error)
            return
        except ConfigError as error:
            worker.give_up("was refused")
            self._fault = error
            while self._queue:
                self._fail(error)
            return
        except BaseException:
            worker.kill()
            raise
        finally:
            self._starting -= 1
        self._workers.append(worker)
        every = min(self._settings.lost_after_s / 4, 15.0)
        self._keep(worker.watch(every, self._settings.lost_after_s))
        self._hand_out()

    def _fail(self, error: Exception) -> None:
        """Tell whoever waits first."""
        while self._queue:
            turn = self._queue.popleft().turn
            if not turn.done():
                turn.set_exception(error)
                return

    async def _tend(self) -> None:
        """Keep to the share, give back what is idle, forget what is gone."""
        while True:
            await asyncio.sleep(_TEND_S)
            for worker in [one for one in self._workers if one.is_over]:
                self._workers.remove(worker)
                self._refused += worker.refused
            if not self._settings.address:
                continue
            # In a thread, because it waits for the control service, which may be gone.
            with contextlib.suppress(ray_error()):
                self._cores = await asyncio.to_thread(cluster.cores_of_cluster)
            await self._ask_share()
            for worker in to_dismiss(self.workers, self._most(), time.monotonic()):
                self._workers.remove(worker)
                self._keep(self._ended(worker))
            if self._queue:
                self._hand_out()

    async def _ask_share(self) -> None:
        """A cluster without an answer is divided by nobody: everyone takes what there is."""
        wants = len(self.workers) + self._starting + len(self._queue)
        total = int(self._cores / (self._settings.cpus_per_worker or 1))
        try:
            if self._shares is None:
                self._shares = cast("_SharesHandle", shares_actor())
            share = await asyncio.wait_for(_answer(self._shares.ask.remote(self._run, wants, total)), _TEND_S * 2)
            self._share = cast("int", share)
        except (asyncio.TimeoutError, ray_error(), ValueError):
            self._shares = self._share = None

    async def _ended(self, worker: Worker) -> None:
        if worker.alive:
            with contextlib.suppress(Gone, asyncio.TimeoutError):
                await asyncio.wait_for(worker.call(worker.handle.aclose), _END_S)
        worker.give_up("was ended")

    def _keep(self, coroutine: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def to_dismiss(workers: Sequence[Worker], most: int, now: float) -> list[Worker]:
    """The workers that are to end now. Those above a run's share are given nothing more, so that a run which is never
    idle leaves its neighbours their part when its units end; those that do least are chosen."""
    over = len(workers) - most
    for number, worker in enumerate(sorted(workers, key=lambda one: (not one.leaving, one.units))):
        worker.leaving = number < over
    return [one for one in workers if not one.units and (one.leaving or now - one.idle_since > _IDLE_S)]


async def _answer(awaitable: Awaitable[object]) -> object:
    return await awaitable
