"""What `skillopt model pull | list | serve | probe` do: the embedded model on this machine.

Only shows progress; `skillopt.model` does the work. Errors a user can cause are one line on
standard error; Ctrl-C and SIGTERM end in order (130) with nothing left running, and a pull continues next time.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Coroutine, Generator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.core.errors import FatalModelError, SkillOptError
from skillopt.model.local.backend import create
from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.download import adopt, ensure
from skillopt.model.local.modelfile import cache_directory, find_present
from skillopt.model.local.partial_download import Report
from skillopt.model.local.server import running
from skillopt.model.local.settings import EngineSettings
from skillopt.model.types import ChatRequest, Message

QUESTION = "What is 21 + 21? Reply with only the number."


def run_pull(name: str, file: str, *, verify: bool) -> None:
    """`skillopt model pull`."""
    _run(_pull(name, file, verify))


def show_models() -> int:
    """`skillopt model list`."""
    table, cache = Table(box=None, pad_edge=False), cache_directory()
    for column in ("name", "size", "licence", "present"):
        table.add_column(column, no_wrap=column != "present", overflow="fold")
    for entry in load_catalogue().models:
        try:
            present = find_present(entry, cache)
            where = str(present.path) if present else "no"
        except SkillOptError as error:
            where = error.message
        table.add_row(entry.name, f"{entry.size / 1e9:.2f} GB", entry.licence, where)
    Console().print(table)
    return faults.DONE


def run_serve(name: str, settings: EngineSettings) -> None:
    """`skillopt model serve`."""
    _run(_serve(name, settings))


def run_probe(name: str, threads: int) -> None:
    """`skillopt model probe`."""
    _run(_probe(name, threads))


async def _pull(name: str, file: str, verify: bool) -> None:
    cache = cache_directory()
    with _reporting() as report:
        found = await ensure(name, file=file, verify=verify, report=report)
        if file:
            found = await asyncio.to_thread(adopt, found, load_catalogue().find(name), cache)
    _print(f"{found.name} is ready: {found.path} ({found.size:,} bytes, SHA-256 verified)")


async def _serve(name: str, settings: EngineSettings) -> None:
    with _reporting() as report:
        found = await ensure(name, report=report)
    async with running(found, settings) as engine:
        _print(f"{found.name} at {engine.base_url} (Ctrl-C ends it)")
        await engine.ended()
        raise FatalModelError(f"the engine {engine.why_ended()}{engine.last_words()}")


async def _probe(name: str, threads: int) -> None:
    with _reporting() as report:
        backend = create({"local_model": name, "local_threads": threads, "report": report})
        try:
            begin = time.monotonic()
            await backend.start()
            loaded = time.monotonic()
            reply = await backend.complete(
                ChatRequest(messages=(Message("user", QUESTION),), stage="probe", max_completion_tokens=16)
            )
            seconds = time.monotonic() - loaded
        finally:
            await backend.aclose()
    usage = reply.usage
    tokens = (usage.prompt_tokens or 0) - (usage.cached_tokens or 0) + (usage.completion_tokens or 0)
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    spent = f"{usage.prompt_tokens} prompt tokens{cached}, {usage.completion_tokens} completion tokens"
    speed = f"{tokens / seconds:.1f} tokens/s ({seconds:.1f} s; engine ready in {loaded - begin:.1f} s)"
    _print(f"{reply.text.strip()} | {spent} | {speed}")


@contextlib.contextmanager
def _reporting() -> Generator[Report, None, None]:
    """Progress bars on a terminal, plain lines elsewhere; both on standard error."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
                if not console.is_terminal:
                    _note(f"{what}: {total / 1e9:.2f} GB")
            progress.update(tasks[what], completed=done)

        yield Report(_note if not console.is_terminal else lambda line: console.print(line, markup=False), show)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; SIGTERM counts as Ctrl-C."""

    async def main() -> None:
        task = asyncio.ensure_future(work)
        with contextlib.suppress(NotImplementedError):  # no such handlers on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await task

    def action() -> int:
        try:
            asyncio.run(main())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        return faults.DONE

    faults.run(action)


def _print(line: str) -> None:
    Screen(sys.stdout).line(line)


def _note(line: str) -> None:
    Screen(sys.stderr).line(line)
