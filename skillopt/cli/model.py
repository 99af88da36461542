"""What `skillopt model pull | list | serve | probe` show: the embedded model on this machine.

Only shows progress; `skillopt.api.local_models` does the work. Errors a user can cause are one line on standard error;
Ctrl-C and SIGTERM end in order (130) with nothing left running, and a pull continues next time.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Coroutine, Generator

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from skillopt.api import local_models
from skillopt.api.local_models import EngineSettings, ModelFile, Report
from skillopt.cli import faults
from skillopt.cli.console import Screen


def run_pull(name: str, file: str, *, verify: bool) -> None:
    """`skillopt model pull`."""
    _run(_pull(name, file, verify))


def show_models() -> int:
    """`skillopt model list`."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "size", "licence", "present"):
        table.add_column(column, no_wrap=column != "present", overflow="fold")
    for entry in local_models.listed():
        present = str(entry.present) if entry.present is not None else entry.fault or "no"
        table.add_row(entry.name, f"{entry.size / 1e9:.2f} GB", entry.licence, present)
    Console().print(table)
    return faults.DONE


def run_serve(name: str, settings: EngineSettings) -> None:
    """`skillopt model serve`."""
    _run(_serve(name, settings))


def run_probe(name: str, threads: int) -> None:
    """`skillopt model probe`."""
    _run(_probe(name, threads))


async def _pull(name: str, file: str, verify: bool) -> None:
    with _reporting() as report:
        found = await local_models.pull(name, file=file, verify=verify, report=report)
    _print(f"{found.name} is ready: {found.path} ({found.size:,} bytes, SHA-256 verified)")


async def _serve(name: str, settings: EngineSettings) -> None:
    def ready(found: ModelFile, address: str) -> None:
        bars.close()
        _print(f"{found.name} at {address} (Ctrl-C ends it)")

    with contextlib.ExitStack() as bars:
        report = bars.enter_context(_reporting())
        await local_models.serve(name, settings, report=report, ready=ready)


async def _probe(name: str, threads: int) -> None:
    with _reporting() as report:
        found = await local_models.probe(name, threads=threads, report=report)
    usage = found.usage
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    spent = f"{usage.prompt_tokens} prompt tokens{cached}, {usage.completion_tokens} completion tokens"
    speed = f"{found.tokens_a_second:.1f} tokens/s ({found.answer_s:.1f} s; engine ready in {found.ready_s:.1f} s)"
    _print(f"{found.text} | {spent} | {speed}")


@contextlib.contextmanager
def _reporting() -> Generator[Report, None, None]:
    """Progress bars on a terminal, plain lines elsewhere; both on standard error."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
                if not console.is_terminal:
                    _note(f"{what}: {total / 1e9:.2f} GB")
            progress.update(tasks[what], completed=done)

        yield Report(_note if not console.is_terminal else lambda line: console.print(line, markup=False), show)


def _run(work: Coroutine[object, object, None]) -> None:
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
