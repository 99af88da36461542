"""The seam: where work is done. The bytes of a run do not depend on which executor did it.

`InlineExecutor` for tests and debuggers, `LocalExecutor` for one machine, `executors.ray` for a cluster. An executor
belongs to one event loop and one run, which opens and closes it.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from skillopt.core.json_types import JsonObject
from skillopt.work.unit import Work


class Session(Protocol):
    """Work that keeps its state between requests (an episode, a workspace): every step runs in the same worker."""

    async def step(self, payload: JsonObject) -> JsonObject:
        """One request. Raises `WorkFailed`, or `WorkerLost` when the state is gone; a step is never repeated here."""
        ...


class Executor(Protocol):
    """Runs units of work at bounded width."""

    @property
    def name(self) -> str:
        """`inline`, `local`, …; in no key and no fingerprint."""
        ...

    @property
    def apart(self) -> bool:
        """Whether workers may have a file system of their own: files that a unit needs go along with it then."""
        ...

    async def run(self, work: Work) -> JsonObject:
        """Do it, repeating what was lost with a worker. Raises `WorkerLost`, `WorkFailed`, `ConfigError`.

        A cancelled call returns once the unit and every program it began have ended.
        """
        ...

    def session(self, work: Work) -> AbstractAsyncContextManager[Session]:
        """Open work that is asked step by step; leaving the block ends it."""
        ...

    async def put(self, data: bytes) -> str:
        """Make bytes available to workers; returns their digest for `Work.files`."""
        ...

    async def aclose(self) -> None:
        """End everything. Nothing of ours runs afterwards. Idempotent."""
        ...
