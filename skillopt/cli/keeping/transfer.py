"""`skillopt transfer`: skills of finished runs under other models and harnesses, and what is left of their gains."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from skillopt.api.keeping.columns import FileSource, Keys
from skillopt.api.keeping.grid import NO_SKILL, Grid, prepare_grid, targets_of
from skillopt.api.keeping.transfer import RESULT, Moved, Trained, to_json, trained, transfer_of, write
from skillopt.api.runs.evaluation import split_names
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.keeping.compare import measure, out_in
from skillopt.cli.wording import interval, number, plural, usd
from skillopt.core.errors import ConfigError


@dataclass(frozen=True)
class TransferArgs:
    """The arguments."""

    config: Path
    skills: list[str]
    models: list[str]
    harnesses: list[str]
    split: str
    replay: bool
    as_json: bool


def run_transfer(asked: TransferArgs, overrides: list[str]) -> int:
    """`skillopt transfer`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    found = _named(asked.skills)
    arguments, out = out_in(overrides)
    skills: dict[str, str | Path] = {NO_SKILL: "", **{name: one.skill for name, one in found.items()}}
    work = prepare_grid(FileSource(asked.config, arguments), skills, _targets(asked, found), split_names(asked.split),
                        out=out, replay=asked.replay)  # fmt: skip
    for text in work.notices:
        screen.line(f"note: {text}")
    grid = asyncio.run(measure(screen, work))
    homes = {name: one.home for name, one in found.items()}
    moved = transfer_of(grid, homes)
    write(moved, homes, grid)
    if asked.as_json:
        Screen(whole=True).line(json.dumps(to_json(moved, homes, grid), ensure_ascii=False, indent=2))
    else:
        _show(screen, grid, moved)
    return faults.STOPPED if any(cell.fault for cell in grid.cells) else faults.DONE


def _named(given: list[str]) -> dict[str, Trained]:
    """By `name=PATH`, else by the run's directory or the file's name."""
    found: dict[str, Trained] = {}
    for text in given:
        name, sign, rest = text.partition("=")
        path = Path(rest) if sign and not Path(text).exists() else Path(text)
        label = name if sign and path == Path(rest) else path.stem if path.is_file() else path.resolve().name
        if label in found or label == NO_SKILL:
            raise ConfigError(f"{text}: {label!r} stands twice", hint="name them: --skill a=PATH --skill b=PATH")
        found[label] = trained(path)
    return found


def _targets(asked: TransferArgs, found: dict[str, Trained]) -> dict[str, Keys]:
    """The homes of the skills, and every harness with every model that was asked for."""
    homes = {one.home: one.keys for one in found.values() if one.keys is not None}
    more = targets_of(asked.harnesses, asked.models) if asked.harnesses or asked.models or not homes else {}
    return {**homes, **more}


def _show(screen: Screen, grid: Grid, moved: tuple[Moved, ...]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("target", "skill", "score", "gain over no skill", "of home", "of own", ""):
        table.add_column(title, no_wrap=True)
    for one in moved:
        table.add_row(
            one.target, f"{one.skill} (home)" if one.at_home else one.skill, number(one.score, 3),
            f"{one.gain:+.3f} {interval(one.interval)}", _percent(one.kept), _percent(one.of_own), one.words,
        )  # fmt: skip
    screen.line()
    screen.show(table)
    screen.line()
    sizes = sorted({one.n for one in moved})
    if sizes:
        items = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        together = f"; the {len(moved)} intervals hold all at once (95 %)" if len(moved) > 1 else ""
        screen.line(f"On {items} items{together}.")
        screen.line("Of home: of its gain where it was trained. Of own: of what this target's own skill gains.")
    for cell in grid.cells:
        if cell.fault:
            screen.line(f"{cell.skill} under {cell.target} could not be measured: {cell.fault}")
    calls = sum(cell.calls for cell in grid.cells)
    screen.line(f"Cost: {plural(calls, 'call')}, {usd(grid.cost)}. Results: {grid.directory / RESULT}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
