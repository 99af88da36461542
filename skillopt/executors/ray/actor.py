"""What runs on a node: an asynchronous actor that keeps worker processes of its own, as a run on one machine does.

It is sent by value, so that it can say what is installed on a node before anything of the package is imported there.
The user's code runs in those worker processes, never in Ray's; they end with everything they began when the actor does,
whatever ended it. Answers and errors are values. Nothing is repeated here, and a number is used once; what was
cancelled has ended when `cancel` returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import asyncio
    from contextlib import AsyncExitStack

    from skillopt.core.json_types import JsonObject
    from skillopt.work.executor import Session
    from skillopt.work.local import LocalExecutor
    from skillopt.work.registry import Handler
    from skillopt.work.unit import Work


class NodeWorker:
    """One actor. Its methods are called from the pool process only."""

    def __init__(self) -> None:
        self._executor: LocalExecutor | None = None
        self._units: dict[int, asyncio.Task[JsonObject]] = {}
        self._sessions: dict[int, tuple[AsyncExitStack, Session]] = {}
        self._handlers: dict[str, Handler] = {}
        self._early: set[int] = set()
        """Cancelled before they came."""

    async def hello(self, lost_after_s: float) -> JsonObject:
        """What is here. Blank version: the package is not installed."""
        import importlib
        import os
        import platform
        import shutil
        import socket
        import tempfile

        ray = importlib.import_module("ray")
        said: dict[str, object] = {
            "host": socket.gethostname(),
            "node": ray.get_runtime_context().get_node_id(),
            "ray": ray.__version__,
            "pid": os.getpid(),
            "python": platform.python_version(),
            "free_bytes": shutil.disk_usage(tempfile.gettempdir()).free,
            "token": os.environ.get("RAY_AUTH_MODE", "").lower() == "token",
            "version": "",
            "code": "",
        }
        try:
            from skillopt.executors.ray.code import own_code

            said["version"], said["code"] = own_code()
        except ImportError as error:
            said["fault"] = str(error)
            return cast("JsonObject", said)
        from skillopt.work.local import LocalExecutor
        from skillopt.work.registry import Registry

        registry = Registry(self._handlers)
        self._executor = LocalExecutor(slots=1_000_000, attempts=1, lost_after_s=lost_after_s, registry=registry)
        return cast("JsonObject", said)

    async def beat(self) -> int:
        """Alive, and so many units are here."""
        return len(self._units)

    async def missing(self, programs: list[str]) -> list[str]:
        """Which of these programs are not on this node's path."""
        import shutil

        return [program for program in programs if shutil.which(program) is None]

    async def reaches(self, host: str, port: int) -> bool:
        """Whether this node can open a connection to an address."""
        import asyncio

        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 5.0)
        except (OSError, asyncio.TimeoutError):
            return False
        writer.close()
        return True

    async def do(self, number: int, message: JsonObject, *blobs: bytes) -> JsonObject:
        """A unit, or a request to a session: `value`, `error`, `lost` or `cancelled`."""
        import asyncio

        from skillopt.core.errors import CircuitOpen
        from skillopt.work.errors import WorkerLost, WorkFailed
        from skillopt.work.handling import failure_of

        if number in self._early:
            self._early.discard(number)
            return {"cancelled": True}
        task = self._units[number] = asyncio.ensure_future(self._done(message, blobs))
        try:
            return {"value": await task}
        except asyncio.CancelledError:
            return {"cancelled": True}
        except (WorkerLost, CircuitOpen) as error:
            return {"lost": error.message}
        except WorkFailed as error:
            said = {"type": error.kind, "message": error.message, "hint": error.hint, "detail": error.detail}
            return {"error": cast("JsonObject", said)}
        except Exception as error:  # noqa: BLE001
            # It goes to the driver with its traceback, which raises it there. A `SystemExit` here is the actor's own
            # end, since work runs in other processes: a lost worker, no failure of the unit.
            return {"error": failure_of(error)}
        finally:
            self._units.pop(number, None)

    async def cancel(self, number: int) -> bool:
        """End a unit with all it began; returns when that is done."""
        import asyncio

        task = self._units.get(number)
        if task is None:
            self._early.add(number)
        else:
            task.cancel()
            await asyncio.wait([task])
        return True

    async def aclose(self) -> bool:
        """End everything."""
        for stack, _ in list(self._sessions.values()):
            await stack.aclose()
        self._sessions.clear()
        if self._executor is not None:
            await self._executor.aclose()
        return True

    async def _done(self, message: JsonObject, blobs: tuple[bytes, ...]) -> JsonObject:
        executor = self._executor
        assert executor is not None, "hello comes first"
        verb, session = message["do"], cast("int", message.get("session", 0))
        if verb == "run":
            return await executor.run(await self._work(executor, message, blobs))
        if verb == "open":
            return await self._open(executor, session, await self._work(executor, message, blobs))
        stack, opened = self._sessions[session]
        if verb == "step":
            return await opened.step(cast("JsonObject", message["payload"]))
        del self._sessions[session]
        await stack.aclose()
        return {}

    async def _open(self, executor: LocalExecutor, session: int, work: Work) -> JsonObject:
        from contextlib import AsyncExitStack

        stack = AsyncExitStack()
        opened = await stack.enter_async_context(executor.session(work))
        self._sessions[session] = (stack, opened)
        return {}

    async def _work(self, executor: LocalExecutor, message: JsonObject, blobs: tuple[bytes, ...]) -> Work:
        from skillopt.work.registry import Handler
        from skillopt.work.unit import Needs, Work

        target = str(message["target"])
        self._handlers[target] = Handler(target, bool(message.get("shared")))
        for data in blobs:
            await executor.put(data)
        return Work(
            target,
            cast("JsonObject", message["payload"]),
            version=str(message["version"]),
            files=cast("dict[str, str]", message["files"]),
            needs=Needs(0.0, 0),
            deadline_s=cast("float", message["deadline_s"]),
            open_s=cast("float | None", message["open_s"]),
            attempts=1,
        )
