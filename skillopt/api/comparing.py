"""`compare`: finished runs on the items of their sealed tests, or skills under several targets, measured now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.api.shown.paired_table import Measured, PairedTable
from skillopt.api.shown.result import Result
from skillopt.core.errors import DataError
from skillopt.core.outcome import Scored
from skillopt.gate.metric import Metric
from skillopt.records.reading import Run, open_run

if TYPE_CHECKING:
    from skillopt.api.evaluating import SkillLike
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.forms import BudgetLike, ConfigLike
    from skillopt.api.given.items import ItemsLike
    from skillopt.api.given.models import ModelLike
    from skillopt.api.given.scorers import ScorerLike
    from skillopt.api.keeping.grid import Grid
    from skillopt.api.runs.watching import Observer
    from skillopt.engine.run.given import Interrupt


@dataclass(frozen=True)
class Comparison:
    """Runs or columns side by side; a notebook shows the table. `grid` holds each column's scores and cost where they
    were measured now."""

    table: PairedTable
    grid: Grid | None = None

    def __str__(self) -> str:
        return "\n".join([*(f"warning: {text}" for text in self._notices), str(self.table)])

    @property
    def _notices(self) -> tuple[str, ...]:
        return self.grid.notices if self.grid is not None else ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        del include, exclude
        return {
            "text/plain": str(self),
            "text/markdown": self.table.markdown(self._notices),
            "text/html": self.table.html(self._notices),
        }


def compare(
    *runs: Result | str | Path,
    items: ItemsLike | None = None,
    scorer: ScorerLike | None = None,
    skills: Mapping[str, SkillLike] | None = None,
    targets: Mapping[str, ModelLike] | Sequence[str] | None = None,
    no_skill: bool = True,
    config: ConfigLike = None,
    overrides: Mapping[str, object] | None = None,
    prompt: str = "",
    split: str = "test",
    repeats: int | None = None,
    out: str | Path | None = None,
    on_event: Observer | Sequence[Observer] | None = None,
    budget: BudgetLike = None,
    seed: int | None = None,
    replay: bool = False,
    **named: Result | str | Path,
) -> Comparison:
    """Compare finished runs on the items that their sealed tests share, or, with `skills=`, measure skills now.

    `compare("outputs/a", "outputs/b")` names runs by their directories, `compare(old=a, new=b)` by yourself. With
    `skills=` and `targets=` (`"backend:model"`, an agent program as `"codex_exec"`, or models by name) every skill is
    asked under every target on the same items, "no skill" beside them; pairs that differ in one thing are compared, and
    their intervals hold all at once. Raises `DataError` where there is nothing to compare.

    >>> import skillopt
    >>> skillopt.compare("outputs/none")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: compare takes two runs or more, got 1
    """
    if skills is not None or targets is not None:
        if runs or named:
            raise DataError("compare takes either finished runs, or skills= and targets=")
        from skillopt.api.given.arguments import Arguments

        more = {**(overrides or {}), **({"evaluation.repeats": repeats} if repeats is not None else {})}
        asked = Arguments(items=items, scorer=scorer, prompt=prompt, config=config, overrides=more, budget=budget,
                          seed=seed)  # fmt: skip
        return _measured(asked, skills or {}, targets or {}, no_skill, split, out, on_event, replay)
    given = dict(zip(_names(runs), runs, strict=True)) | named
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


def _measured(
    asked: Arguments, skills: Mapping[str, SkillLike], targets: Mapping[str, ModelLike] | Sequence[str], no_skill: bool,
    split: str, out: str | Path | None, on_event: Observer | Sequence[Observer] | None, replay: bool,
) -> Comparison:  # fmt: skip
    """Measure every skill under every target."""
    from skillopt.api.given.skills import skill_of
    from skillopt.api.keeping.columns import Keys, ProgramSource
    from skillopt.api.keeping.grid import NO_SKILL, prepare_grid
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of
    from skillopt.engine.evaluate import split_names

    models = dict(targets) if isinstance(targets, Mapping) else {name: name for name in targets}
    keys: dict[str, Keys] = {name: {"target": name} for name in models} or {"target": {}}
    found = {name: skill if isinstance(skill, Path) else skill_of(skill) for name, skill in skills.items()}
    columns = {**({NO_SKILL: ""} if no_skill else {}), **found}
    source, splits, observers = ProgramSource(asked, models), split_names(split), observers_of(on_event)

    async def measured(interrupt: Interrupt) -> Grid:
        work = prepare_grid(source, columns, keys, splits, out=Path(out) if out is not None else None,
                            interrupt=interrupt, replay=replay)  # fmt: skip
        return await work.run(lambda _: observers)

    grid = blocking(measured)
    return Comparison(grid.table, grid)


def _names(runs: Sequence[Result | str | Path]) -> list[str]:
    """A run's own directory; with a number where an earlier one is called the same."""
    names: list[str] = []
    for run in runs:
        name = (run.directory if isinstance(run, Result) else Path(run)).name or "run"
        same = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names


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
