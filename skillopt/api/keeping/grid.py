"""Skills under targets, all on the same items: who is better than whom, with claims that hold all at once.

Every two columns that differ in one thing are compared (two skills under one target, one skill under two targets); the
intervals of all these pairs hold together. Columns are measured one after the other, each in a directory of its own, so
that the same call goes on and pays nothing twice; a cap in money or calls holds over all of them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.api.keeping.columns import Column, Keys, Measured, Prepared, Source, prepared
from skillopt.api.shown.paired_table import PairedTable
from skillopt.core.errors import ConfigError, DataError, Interrupted, StopRun
from skillopt.core.hashing import digest
from skillopt.core.item import safe_name
from skillopt.core.json_types import JsonValue
from skillopt.core.skill import Skill
from skillopt.engine.run.given import Interrupt
from skillopt.engine.run.output_directory import OUTPUTS
from skillopt.engine.run.telling.events import Observer
from skillopt.store.atomic import write_json

NO_SKILL = "no skill"
RESULT = "compare.json"
Watch = Callable[[str], Sequence[Observer]]
"""Who watches the column of this name."""


@dataclass(frozen=True)
class Cell:
    """One measured column. `fault` says why there is none."""

    skill: str
    target: str
    scores: Measured
    cost: float | None = None
    calls: int = 0
    fault: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """What was measured: `table` names a column by its skill, its target, or both, whatever tells them apart."""

    directory: Path
    skills: Mapping[str, Skill]
    targets: tuple[str, ...]
    cells: tuple[Cell, ...]
    table: PairedTable
    faults: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """Dollars in all; None where the price of a part is not known."""
        known = [cell.cost for cell in self.cells if not cell.fault]
        return None if None in known else sum(cost for cost in known if cost is not None)

    def to_dict(self) -> dict[str, JsonValue]:
        """Everything as JSON values."""
        cells: list[JsonValue] = [
            {"skill": c.skill, "target": c.target, "cost": c.cost, "calls": c.calls, "fault": c.fault,
             "scores": dict(c.scores)} for c in self.cells
        ]  # fmt: skip
        skills: JsonValue = {name: skill.hash for name, skill in self.skills.items()}
        return {"directory": str(self.directory), "skills": skills, "cost": self.cost, "cells": cells,
                **({"notices": list(self.notices)} if self.notices else {}),
                **self.table.to_dict()}  # fmt: skip

    @property
    def notices(self) -> tuple[str, ...]:
        """What has to be known beside the scores, by column; "no skill" was to be read by nobody."""
        told = [(self.column(cell), text) for cell in self.cells for text in cell.notices if cell.skill != NO_SKILL]
        return tuple(f"{name}: {text}" for name, text in told)

    def column(self, cell: Cell) -> str:
        """How the table calls a cell."""
        return column_name(cell.skill, cell.target, len(self.skills), len(self.targets))


@dataclass(frozen=True)
class GridWork:
    """A comparison that could begin."""

    root: Path
    columns: Mapping[tuple[str, str], Prepared]
    replay: bool = False
    notices: tuple[str, ...] = field(default=())

    async def run(self, watch: Watch = lambda _: ()) -> Grid:
        """Measure every column. A fault of one target is in its cells; the others go on. Raises what stops everything,
        and `DataError` where fewer than two columns could be measured."""
        skills = {skill: one.skill for (skill, _), one in self.columns.items()}
        targets = tuple(dict.fromkeys(target for _, target in self.columns))
        cells: list[Cell] = []
        done: list[Column] = []
        for (skill, target), one in self.columns.items():
            try:
                column = await _capped(one, done).run(watch(column_name(skill, target, len(skills), len(targets))),
                                                      replay=self.replay)  # fmt: skip
            except Interrupted:
                raise
            except StopRun as error:
                cells.append(Cell(skill, target, {}, fault=str(error)))
                continue
            done.append(column)
            cells.append(
                Cell(skill, target, column.scores, column.summary.cost, column.calls, notices=column.summary.notices)
            )
        table = table_of(cells, len(skills), len(targets))
        faults = dict.fromkeys(fault for column in done for fault in column.faults)
        late = dict.fromkeys(fault for column in done for fault in column.late)
        grid = Grid(self.root, skills, targets, tuple(cells), table, tuple(faults), tuple(late))
        write_json(self.root / RESULT, grid.to_dict())
        return grid


def column_name(skill: str, target: str, skills: int, targets: int) -> str:
    """What tells a column from the others.

    >>> column_name("rules", "gpt", 2, 1), column_name("rules", "gpt", 1, 2), column_name("rules", "gpt", 2, 2)
    ('rules', 'gpt', 'rules / gpt')
    """
    if targets < 2:
        return skill
    return f"{skill} / {target}" if skills > 1 else target


def prepare_grid(
    source: Source,
    skills: Mapping[str, str | Path | Skill],
    targets: Mapping[str, Keys],
    splits: tuple[str, ...],
    *,
    out: Path | None = None,
    interrupt: Interrupt | None = None,
    replay: bool = False,
) -> GridWork:
    """Load and check every column. Raises `ConfigError` or `DataError`; spends nothing. Without `out` the directory
    bears the comparison's own name, so that the same command goes on."""
    if len(skills) * len(targets) < 2:
        raise ConfigError("nothing to compare: one skill under one target", hint="add a skill, a model or a harness")
    root = out or OUTPUTS / f"compare_{digest([{n: str(s) for n, s in skills.items()}, _plain(targets), splits])[:10]}"
    columns = {
        (skill, target): prepared(
            source, given, keys, root / safe_name(target), splits, interrupt=interrupt, replay=replay
        )
        for target, keys in targets.items()
        for skill, given in skills.items()
    }
    notices = dict.fromkeys(text for one in columns.values() for text in one.evaluating.notices)
    return GridWork(root, columns, replay, tuple(notices))


def targets_of(harnesses: Sequence[str], models: Sequence[str]) -> dict[str, Keys]:
    """Every harness with every model as configuration keys, by a label; both blank: the configuration's own target.

    >>> list(targets_of(["codex_exec", "chat"], ["a"]))
    ['codex_exec:a', 'chat:a']
    """
    found: dict[str, Keys] = {}
    for harness, model in itertools.product(harnesses or [""], models or [""]):
        label = ":".join(filter(None, (harness, model))) or "target"
        found[label] = {
            **({"model.target_backend": harness} if harness else {}), **({"model.target": model} if model else {})
        }  # fmt: skip
    return found


def _plain(targets: Mapping[str, Keys]) -> str:
    return json.dumps({label: dict(keys) for label, keys in targets.items()}, sort_keys=True)


def _capped(one: Prepared, done: Sequence[Column]) -> Prepared:
    """The column with what earlier ones have left of the caps."""
    caps = one.config.budget
    spent = sum(column.summary.cost or 0.0 for column in done)
    calls = sum(column.calls for column in done)
    left = caps.model_copy(
        update={
            "max_usd": None if caps.max_usd is None else max(0.0, caps.max_usd - spent),
            "max_calls": None if caps.max_calls is None else max(1, caps.max_calls - calls),
        }
    )
    resolved = replace(one.evaluating.resolved, config=one.config.model_copy(update={"budget": left}))
    return replace(one, evaluating=replace(one.evaluating, resolved=resolved))


def table_of(cells: Sequence[Cell], skills: int, targets: int) -> PairedTable:
    """Scores of all cells and the pairs that differ in one thing. Raises `DataError` where fewer than two were
    measured."""
    found = [cell for cell in cells if cell.scores]
    if len(found) < 2:
        faults = [cell.fault for cell in cells if cell.fault]
        raise DataError(
            f"{len(found)} of {len(cells)} columns could be measured" + (f": {faults[0]}" if faults else ""),
            hint="mend that and start again: what was measured is kept",
        )
    named = {column_name(c.skill, c.target, skills, targets): c for c in found}
    couples = [
        (a, b)
        for a, b in itertools.combinations(named, 2)
        if (named[a].skill == named[b].skill) != (named[a].target == named[b].target)
    ]
    return PairedTable.of({name: cell.scores for name, cell in named.items()}, couples)
