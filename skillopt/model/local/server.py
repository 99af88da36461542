"""The embedded engine as seen by its owner: start, address, end.

`Engine` owns one child process (`local.child`). It is silent: what the engine says is kept as a bounded tail and shown
only inside errors. The child ends on every way out of this process; `stop` also waits for it, so no zombie stays.
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

from skillopt.core.errors import FatalModelError
from skillopt.core.json_types import JsonValue
from skillopt.core.shorten import shorten
from skillopt.model.local.cores import usable_cores
from skillopt.model.local.modelfile import ModelFile
from skillopt.model.local.prefix import PrefixStates
from skillopt.model.local.settings import EngineSettings

START_SECONDS = 180.0
"""Loading from a cold disk on a busy machine included."""
_STOP_SECONDS = 3.0
_LAST_WORDS_SECONDS = 5.0
_WATCH_SECONDS = 0.3
_TAIL_LINES = 12
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
    _drainer: threading.Thread | None = None

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
        threading.Thread(target=_read_line, args=(process, line), daemon=True).start()
        self._drainer = threading.Thread(target=_drain, args=(process, self._tail), daemon=True)
        self._drainer.start()
        try:
            answer = await asyncio.wait_for(asyncio.wrap_future(line), timeout)
            await asyncio.to_thread(self._hear_out, answer)
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

    def _hear_out(self, answer: bytes) -> None:
        """Wait for the end of a child that has no address to tell, and for the last of what it wrote. Blocking."""
        process, drainer = self._process, self._drainer
        if b'"address"' in answer or process is None or drainer is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_LAST_WORDS_SECONDS)
        drainer.join(_LAST_WORDS_SECONDS)

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
            cause = answer.get("error") or f"its process {self.why_ended()}"
            raise FatalModelError(
                f"the embedded model {self.model.name} could not be loaded: {cause}{self.last_words()}",
                hint=f"check {self.model.path} with `skillopt model pull --verify`",
            )
        self.address, self.key, self._folder = str(answer["address"]), str(answer["key"]), str(answer["folder"])
        self.states = PrefixStates(self.address, self.key, Path(self._folder)) if self._folder else None


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
