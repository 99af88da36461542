"""One engine shared by those who ask for the same, for the length of a run.

Optimizer and target with the same model and settings share one engine, which starts at the first use and ends when the
last user has released it. A dead engine is started again a few times, then reported.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.model.local.modelfile import ModelFile
from skillopt.model.local.server import Engine
from skillopt.model.local.settings import EngineSettings

_RESTARTS = 3


class EnginePool:
    """Engines of one run, shared and counted. Close it at the end of the run; it is its own context manager."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str, EngineSettings], _Shared] = {}

    def lease(self, model: ModelFile, settings: EngineSettings) -> EngineLease:
        """A share in the engine for `model`. Costs nothing until `EngineLease.ready`."""
        shared = self._shared.setdefault((model.sha256, settings), _Shared(Engine(model, settings)))
        shared.users += 1
        return EngineLease(shared)

    async def aclose(self) -> None:
        """End all engines, leased or not. Idempotent."""
        everyone, self._shared = list(self._shared.values()), {}
        await asyncio.gather(*(shared.engine.stop() for shared in everyone))

    async def __aenter__(self) -> EnginePool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@dataclass
class _Shared:
    engine: Engine
    users: int = 0
    starts: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class EngineLease:
    """One user's share of an engine."""

    def __init__(self, shared: _Shared) -> None:
        self._shared, self._released = shared, False

    async def ready(self) -> Engine:
        """The running engine, started if need be.

        Raises `TransientModelError` once for an engine that has died (the next attempt starts it again), and
        `FatalModelError` when it cannot start or keeps dying.
        """
        shared = self._shared
        async with shared.lock:
            engine = shared.engine
            if engine.alive:
                return engine
            if shared.starts > _RESTARTS:
                raise FatalModelError(
                    f"the embedded model {engine.model.name} {engine.why_ended()} {shared.starts} times",
                    hint="it may need more memory than there is; lower n_ctx or n_parallel",
                )
            shared.starts += 1
            await engine.stop()
            await engine.start()
            return engine

    def lost(self) -> TransientModelError | None:
        """What to raise for a failed call if the engine died under it, else None."""
        engine = self._shared.engine
        if engine.alive:
            return None
        return TransientModelError(f"the embedded model {engine.model.name} {engine.why_ended()}{engine.last_words()}")

    async def release(self) -> None:
        """Give the share back; the last one ends the engine. Idempotent."""
        if self._released:
            return
        self._released = True
        self._shared.users -= 1
        if self._shared.users == 0:
            async with self._shared.lock:
                await self._shared.engine.stop()
                self._shared.starts = 0
