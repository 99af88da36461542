"""`skillopt compare`: a table of skills by targets, and every pair with what may be said of it."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from skillopt.api.comparing import compare
from skillopt.api.keeping.columns import FileSource
from skillopt.api.keeping.grid import NO_SKILL, Grid, GridWork, prepare_grid, targets_of
from skillopt.api.runs.evaluation import split_names
from skillopt.api.shown.paired_table import PairedTable, Score
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.cli.wording import interval, number, plural, usd
from skillopt.core.errors import ConfigError, DataError


@dataclass(frozen=True)
class CompareArgs:
    """The arguments."""

    config: Path | None
    skills: list[str]
    models: list[str]
    harnesses: list[str]
    no_skill: bool
    split: str
    replay: bool
    as_json: bool


def run_compare(asked: CompareArgs, leftovers: list[str]) -> int:
    """`skillopt compare`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    if asked.config is None:
        return _runs(asked, leftovers)
    arguments, out = out_in(leftovers)
    work = prepare_grid(
        FileSource(asked.config, arguments), _skills(asked), targets_of(asked.harnesses, asked.models),
        split_names(asked.split), out=out, replay=asked.replay,
    )  # fmt: skip
    for text in work.notices:
        screen.line(f"note: {text}")
    grid = asyncio.run(measure(screen, work))
    if asked.as_json:
        Screen(whole=True).line(json.dumps(grid.to_dict(), ensure_ascii=False, indent=2))
    else:
        _show(screen, grid)
    for text in grid.late:
        screen.line(f"note: {text}")
    return faults.STOPPED if any(cell.fault for cell in grid.cells) else faults.DONE


def _runs(asked: CompareArgs, runs: list[str]) -> int:
    """Finished runs."""
    if asked.skills or asked.models or asked.harnesses or len(runs) < 2:
        raise ConfigError(
            "compare needs --config FILE with --skill, --model or --harness, or two run directories",
            hint="for example: skillopt compare --config config.yaml --skill old.md --skill new.md",
        )
    found = compare(*runs)
    if asked.as_json:
        Screen(whole=True).line(json.dumps(found.table.to_dict(), ensure_ascii=False, indent=2))
    else:
        Screen(whole=True).line(str(found))
    return faults.DONE


def _skills(asked: CompareArgs) -> dict[str, str | Path]:
    """Skills by name, which is the given one or what the path is called."""
    found: dict[str, str | Path] = {NO_SKILL: ""} if asked.no_skill else {}
    for text in asked.skills:
        name, sign, rest = text.partition("=")
        path = Path(rest) if sign and not Path(text).exists() else Path(text)
        if not path.exists():
            raise DataError(f"--skill {text}: no such file or directory", hint="check the path")
        label = name if path == Path(rest) and sign else _called(path)
        if label in found and not sign:
            label = str(path)
        if label in found:
            raise ConfigError(f"--skill {text} stands twice", hint="name them: --skill old=PATH --skill new=PATH")
        found[label] = path
    return found


def _called(path: Path) -> str:
    """`skills/x/SKILL.md` and `skills/x` are called x."""
    return (
        path.resolve().parent.name if path.name == "SKILL.md" else path.stem if path.is_file() else path.resolve().name
    )


def out_in(leftovers: list[str]) -> tuple[list[str], Path | None]:
    """The command line without `env.out_root=DIR`, which is the parent of all columns."""
    names = ("env.out_root=", "out_root=")
    places = [text.partition("=")[2] for text in leftovers if text.startswith(names)]
    return [text for text in leftovers if not text.startswith(names)], Path(places[-1]) if places else None


async def measure(screen: Screen, work: GridWork) -> Grid:
    """Measure every column before the eyes of a user."""
    workers = next(iter(work.columns.values())).config.env.workers
    with Display(screen, workers=workers) as display:

        def watch(name: str) -> list[Display]:
            screen.line(f"[{name}]")
            return [display]

        return await work.run(watch)


def _show(screen: Screen, grid: Grid) -> None:
    """Targets down, skills across."""
    by_name = {score.name: score for score in grid.table.scores}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("target", *grid.skills):
        table.add_column(title, overflow="fold")
    for target in grid.targets:
        row = [cell for cell in grid.cells if cell.target == target]
        found = [by_name.get(grid.column(cell)) for cell in row]
        table.add_row(target, *map(_cell, found))
    screen.line()
    screen.show(table)
    screen.line()
    show_pairs(screen, grid.table)
    for cell in grid.cells:
        if cell.fault:
            screen.line(f"{grid.column(cell)} could not be measured: {cell.fault}")
    calls = sum(cell.calls for cell in grid.cells)
    screen.line(f"Cost: {plural(calls, 'call')}, {usd(grid.cost)}. Results: {grid.directory / 'compare.json'}")


def _cell(score: Score | None) -> str:
    if score is None:
        return "fault"
    few = f" ({score.n} of {score.total})" if score.n < score.total else ""
    return f"{number(score.mean, 3)}{few} {interval(score.interval)}"


def show_pairs(screen: Screen, table: PairedTable) -> None:
    """Every pair on a line, and what its interval is."""
    for text in table.pair_lines:
        screen.line(text)
    if len(table.pairs) > 1:
        screen.line(f"The {len(table.pairs)} intervals hold all at once (95 %).")
