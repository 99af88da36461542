"""`compare`: the best skills of several finished runs, on the items of their sealed tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.api.shown.paired_table import Measured, PairedTable
from skillopt.api.shown.result import Result
from skillopt.core.errors import DataError
from skillopt.records.reading import Run, open_run


@dataclass(frozen=True)
class Comparison:
    """Runs side by side; a notebook shows the table."""

    table: PairedTable

    def __str__(self) -> str:
        return str(self.table)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        del include, exclude
        return {"text/plain": str(self), "text/markdown": self.table.markdown(), "text/html": self.table.html()}


def compare(*runs: Result | str | Path, **named: Result | str | Path) -> Comparison:
    """Compare finished runs on the items that their sealed tests share. The first two may be of one skill's history.

    `compare("outputs/a", "outputs/b")` names them by their directories, `compare(old=a, new=b)` by yourself. Raises
    `DataError` where there is nothing to compare.

    >>> import skillopt
    >>> skillopt.compare("outputs/none")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: compare takes two runs or more, got 1
    """
    given = {_name(run, number): run for number, run in enumerate(runs, start=1)} | named
    if len(runs) + len(named) < 2 or len(given) < 2:
        raise DataError(f"compare takes two runs or more, got {len(given)}")
    opened = {name: run.run if isinstance(run, Result) else open_run(Path(run)) for name, run in given.items()}
    return Comparison(PairedTable.of({name: _tested(run) for name, run in opened.items()}))


def _name(run: Result | str | Path, number: int) -> str:
    path = run.directory if isinstance(run, Result) else Path(run)
    return f"{path.name or 'run'}" if number == 1 else f"{path.name or 'run'} ({number})"


def _tested(run: Run) -> Measured:
    rows = run.rollouts("test_eval") or run.rollouts("test_eval_baseline")
    if not rows:
        raise DataError(f"{run.root} has no sealed test", hint="compare runs that ended with evaluation.eval_test on")
    return {name: row.hard for name, row in rows.items()}
