"""`compare`: the best skills of several finished runs, on the items of their sealed tests, each by its run's metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillopt.api.shown.paired_table import Measured, PairedTable
from skillopt.api.shown.result import Result
from skillopt.core.errors import DataError
from skillopt.core.outcome import Scored
from skillopt.gate.metric import Metric
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
    metrics = {name: _metric(run) for name, run in opened.items()}
    if len(set(metrics.values())) > 1:
        raise DataError(
            "the runs have different metrics: " + ", ".join(f"{name} {m.name}" for name, m in metrics.items()),
            hint="compare runs of one evaluation.gate_metric",
        )
    return Comparison(PairedTable.of({name: _tested(run) for name, run in opened.items()}))


def _name(run: Result | str | Path, number: int) -> str:
    path = run.directory if isinstance(run, Result) else Path(run)
    return f"{path.name or 'run'}" if number == 1 else f"{path.name or 'run'} ({number})"


def _tested(run: Run) -> Measured:
    rows = run.rollouts("test_eval") or run.rollouts("test_eval_baseline")
    if not rows:
        raise DataError(f"{run.root} has no sealed test", hint="compare runs that ended with evaluation.eval_test on")
    metric = _metric(run)
    return {
        name: None if row.hard is None or row.soft is None else metric.of(Scored(row.hard, row.soft))
        for name, row in rows.items()
    }


def _metric(run: Run) -> Metric:
    """The metric that the run's own report is of."""
    name, weight = run.config.get("gate_metric"), run.config.get("gate_mixed_weight")
    return Metric(name if isinstance(name, str) else "hard", weight if isinstance(weight, float) else Metric.weight)
