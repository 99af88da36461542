"""What each edit of a run's skill is worth, by leaving it out: as `skillopt ablate` and as a function.

`prepare` finds run, edits and cost without spending anything; `run` measures. What the run has paid for is free.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.api.given.configuring import Resolved, configuration
from skillopt.core.errors import BudgetExceeded, DataError
from skillopt.engine.evaluate import split_names
from skillopt.engine.run.given import Given, Interrupt
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.run.telling.events import Observer as EventObserver
from skillopt.explain.ablation import PRUNED, Ablation, Wish, place_of
from skillopt.explain.ablation import ablate as measure
from skillopt.explain.ablation_forecast import Forecast, check_same_run, forecast
from skillopt.explain.edit_worth import parts
from skillopt.explain.provenance import Traced
from skillopt.explain.skill_ref import explained, named_skill
from skillopt.records.beside.ablation import RESULT
from skillopt.records.codec import decode
from skillopt.records.directory import JOURNAL
from skillopt.records.reading import Run
from skillopt.records.schema import EffectRecord

if TYPE_CHECKING:
    from skillopt.api.runs.watching import Observer

__all__ = ["PRUNED", "RESULT", "Ablating", "Ablation", "Forecast", "Wish", "ablate", "prepare"]


@dataclass(frozen=True)
class Ablating:
    """An ablation that could begin. `forecast` is None where no edit has a line to leave out."""

    resolved: Resolved
    run_read: Run
    traced: Traced
    wish: Wish
    forecast: Forecast | None

    @property
    def directory(self) -> Path:
        """Where results go."""
        return place_of(self.run_read.root)

    @property
    def known(self) -> tuple[EffectRecord, ...]:
        """What a factorial run has measured of each line that it kept, the largest effect first; nothing is paid for
        it. Empty for other searches, whose edits have to be left out one by one."""
        rows = [decode(EffectRecord, row, "effects.json") for row in self.run_read.rows("effects.json")]
        kept = [row for row in rows if row.kept and row.effect is not None]
        return tuple(sorted(kept, key=lambda row: (-(row.effect or 0.0), row.line)))

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before it begins."""
        if self.wish.split != "test":
            return ()
        return ("this reads the sealed test split; what is chosen by it cannot be tested on it any more",)

    async def run(self, observers: Sequence[EventObserver] = (), interrupt: Interrupt | None = None) -> Ablation:
        """Measure. A stop (budget, dead endpoint) is in the result, with what was measured."""
        journal = self.run_read.root / JOURNAL
        answers = journal if journal.is_file() else None
        events = Events(observers)
        async with open_run_context(
            self.resolved,
            out_root=self.directory,
            emit=events,
            need="eval",
            answers=answers,
            given=Given(interrupt=interrupt),
        ) as context:
            return await measure(context, self.traced, self.wish)


def prepare(asked: str | Path, wish: Wish, *, config: Path | None = None, arguments: Sequence[str] = ()) -> Ablating:
    """Find run and edits. Raises `DataError`, `ConfigError` or `RunDirError`, one line; spends nothing."""
    names = split_names(wish.split)
    if len(names) != 1:
        raise DataError("an ablation is measured on one split", hint="choose selection, train or test with --split")
    wish = replace(wish, split=names[0])
    named = named_skill(str(asked))
    traced, run = explained(named), named.run
    assert run is not None  # explained raises for a skill without a run
    resolved = configuration(config or run.root / "config.yaml", arguments)
    check_same_run(resolved.config, run)
    found = forecast(resolved.config, run, traced, wish) if parts(traced) else None
    return Ablating(resolved, run, traced, wish, found)


def failed(result: Ablation) -> bool:
    """Whether a fault ended it; a budget is an end that was asked for."""
    return result.stop is not None and not isinstance(result.stop, BudgetExceeded)


def ablate(
    run: str | Path,
    *,
    config: str | Path | None = None,
    overrides: Mapping[str, object] | None = None,
    split: str = "selection",
    prune: bool = False,
    threshold: float = 0.0,
    margin: float = 0.05,
    on_event: Observer | Sequence[Observer] | None = None,
) -> Ablation:
    """Measure what each edit of a run's best skill is worth by leaving it out, on the same items; with `prune`, drop
    what pays nothing. Blocking. Results are in `<run>/ablation` too; `overrides` are keys of the run's configuration.

    >>> ablate("no_such_run")
    Traceback (most recent call last):
    ...
    skillopt.core.errors.DataError: skill file no_such_run: No such file or directory. check the path
    """
    from skillopt.api.runs.running import blocking
    from skillopt.api.runs.watching import observers_of

    observers = observers_of(on_event)
    wish = Wish(split, prune, threshold, margin)
    arguments = [f"{name}={json.dumps(value)}" for name, value in (overrides or {}).items()]
    asked = prepare(run, wish, config=Path(config) if config is not None else None, arguments=arguments)
    if asked.forecast is None:
        return Ablation(asked.traced.version.skill, asked.wish, [])
    return blocking(lambda interrupt: asked.run(observers, interrupt))
