"""The embedded engine as seen by its owner: start, address, end; and one engine shared by those who ask for the same.

`Engine` owns one child process (`engine_child`). It is silent: what the engine says is kept as a bounded tail and shown
only inside errors. The child ends on every way out of this process; `stop` also waits for it, so no zombie stays.
`EnginePool` belongs to a run: optimizer and target with the same model and settings share one engine, which starts at
the first use and ends when the last user has released it. A dead engine is started again a few times, then reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.json_types import JsonValue
from skillopt.core.shorten import shorten
from skillopt.model.local.modelfile import ModelFile
from skillopt.model.local.prefix import PrefixStates
from skillopt.model.local.settings import EngineSettings

START_SECONDS = 180.0
"""Loading from a cold disk on a busy machine included."""
_STOP_SECONDS = 3.0
_WATCH_SECONDS = 0.3
_TAIL_LINES = 12
_RESTARTS = 3
_WAITING = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "0"}
"""How the engine's threads wait for each other: a moment by spinning, then asleep. By themselves they spin for
milliseconds; where other work holds a core, each then burns its share while it waits for the one that has none. The
user's own variables win. Answers do not depend on it."""


@dataclass
class Engine:
    """One child process that serves `model`. Not started by construction."""

    model: ModelFile
    settings: EngineSettings = field(default_factory=EngineSettings)
    address: str = ""
    key: str = field(default="", repr=False)
    states: PrefixStates | None = None
    """Prefix states of a private engine while it runs."""
    _folder: str = ""
    _process: subprocess.Popen[bytes] | None = None
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))

    @property
    def base_url(self) -> str:
        """Where an OpenAI client is pointed."""
        return f"{self.address}/v1"

    @property
    def pid(self) -> int | None:
        """The child's process id while it is known to run."""
        return self._process.pid if self.alive and self._process else None

    @property
    def alive(self) -> bool:
        """Whether the child runs (its end is noticed and reaped here)."""
        return self._process is not None and self._process.poll() is None

    async def start(self, timeout: float = START_SECONDS) -> None:
        """Start the child and wait until it is healthy.

        Raises `FatalModelError` with the engine's last words; the child is gone then, as after cancellation.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise missing_extra()
        line: Future[bytes] = Future()
        self._tail.clear()
        # From the loop's own thread: Linux's parent-death signal is tied to the thread that starts the child.
        process = self._process = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-m", "skillopt.model.local.child", json.dumps(self._child_settings())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**_WAITING, **os.environ},
        )
        for target, arguments in ((_read_line, (process, line)), (_drain, (process, self._tail))):
            threading.Thread(target=target, args=arguments, daemon=True).start()
        try:
            answer = await asyncio.wait_for(asyncio.wrap_future(line), timeout)
            self._take(answer)
        except asyncio.TimeoutError as error:
            await self.stop()
            raise FatalModelError(
                f"the embedded model {self.model.name} was not ready after {timeout:g} s{self.last_words()}",
                hint="the machine may be short of memory; see `skillopt model probe`",
            ) from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the child and wait for it. Idempotent; a cancelled caller still leaves nothing running."""
        process, self._process = self._process, None
        loading, self.address = not self.address, ""
        states, self.states = self.states, None
        if states is not None:
            await states.aclose()
        if process is not None:
            work = asyncio.ensure_future(asyncio.to_thread(_end, process, loading, self._folder))
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])
                raise

    async def ended(self) -> None:
        """Wait until the child has ended by itself."""
        while self.alive:  # noqa: ASYNC110 - a waiting thread could not be cancelled
            await asyncio.sleep(_WATCH_SECONDS)

    def last_words(self) -> str:
        """The end of what the engine wrote, as a part of an error line; empty when it wrote nothing."""
        text = " | ".join(self._tail)
        return f"; it said: {text[-600:]}" if text else ""

    def why_ended(self) -> str:
        """How the child ended, for people."""
        code = self._process.poll() if self._process else None
        if code is None:
            return "is not running"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with code {code}"

    def _child_settings(self) -> dict[str, JsonValue]:
        settings = self.settings
        return {
            "parent": os.getpid(),
            "path": str(self.model.path),
            "alias": self.model.name,
            "threads": settings.threads or usable_cores(),
            "n_ctx": settings.n_ctx,
            "n_parallel": settings.n_parallel,
            "gpu_layers": settings.gpu_layers,
            "port": settings.port,
            "private": settings.private,
        }

    def _take(self, line: bytes) -> None:
        try:
            answer: dict[str, JsonValue] = json.loads(line) if line.strip() else {}
        except ValueError as error:
            raise FatalModelError(
                f"the embedded engine spoke out of turn: {shorten(line.decode('utf-8', 'replace'), 200)!r}"
            ) from error
        if answer.get("missing"):
            raise missing_extra(str(answer["error"]))
        if "address" not in answer:
            if self._process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=1.0)
            cause = answer.get("error") or f"its process {self.why_ended()}"
            raise FatalModelError(
                f"the embedded model {self.model.name} could not be loaded: {cause}{self.last_words()}",
                hint=f"check {self.model.path} with `skillopt model pull --verify`",
            )
        self.address, self.key, self._folder = str(answer["address"]), str(answer["key"]), str(answer["folder"])
        self.states = PrefixStates(self.address, self.key, Path(self._folder)) if self._folder else None


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


@contextlib.asynccontextmanager
async def running(model: ModelFile, settings: EngineSettings | None = None) -> AsyncGenerator[Engine, None]:
    """A started engine for the length of a `with` block."""
    engine = Engine(model, settings or EngineSettings())
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def missing_extra(cause: str = "") -> FatalModelError:
    """The error for an installation without the engine."""
    told = f" ({cause})" if cause else ""
    return FatalModelError(f"the embedded model needs its engine{told}", hint='run: pip install "skillopt[local]"')


def usable_cores() -> int:
    """Physical cores this process may use: hyper-threads count once, CPU affinity and container quota are respected."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, os.cpu_count() or 1)
    usable = os.sched_getaffinity(0)
    siblings: set[str] = set()
    for cpu in usable:
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text("ascii"))
        except OSError:
            siblings.add(str(cpu))
    return max(1, min(len(siblings), _cgroup_cores() or len(siblings)))


def _cgroup_cores() -> int | None:
    """Whole cores that the container's CPU quota allows; None without one."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None


def _read_line(process: subprocess.Popen[bytes], line: Future[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout as stream:
        answer = stream.readline()
    if not line.cancelled():
        with contextlib.suppress(InvalidStateError):  # the starter gave up in this very moment
            line.set_result(answer)


def _drain(process: subprocess.Popen[bytes], tail: deque[str]) -> None:
    assert process.stderr is not None
    with process.stderr as stream:
        for raw in stream:
            text = raw.decode("utf-8", "replace").strip()
            if text:
                tail.append(shorten(text, 300))


def _end(process: subprocess.Popen[bytes], loading: bool, folder: str) -> None:
    """Close the pipe that keeps the child alive; insist if it does not listen (a loading one cannot); reap it."""
    assert process.stdin is not None
    if loading:
        process.terminate()
    with contextlib.suppress(OSError):
        process.stdin.close()
    for insist in (process.terminate, process.kill, lambda: None):
        try:
            process.wait(timeout=_STOP_SECONDS)
            break
        except subprocess.TimeoutExpired:
            insist()
    if folder:  # a child that was killed could not remove it
        shutil.rmtree(folder, ignore_errors=True)
