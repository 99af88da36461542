"""Every rollout directory of a run in the order of the run, each with a name for people and the split it is of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.core.outcome import Scored
from skillopt.gate.metric import Metric
from skillopt.records.reading import Run
from skillopt.records.rows import RolloutRow

Split = Literal["train", "selection", "test"]
SPLITS: tuple[Split, ...] = ("selection", "train", "test")

_ENDS: dict[str, tuple[str, Split, int]] = {
    "selection_eval_baseline": ("initial skill", "selection", -1),
    "final_selection_eval": ("at the end", "selection", 1_000_000),
    "test_eval_baseline": ("initial skill", "test", 1_000_001),
    "test_eval": ("best skill", "test", 1_000_002),
    "test_eval_final": ("final skill", "test", 1_000_003),
}
_STEP = re.compile(r"steps/step_(\d+)/(?:batch_(\d+)/)?(?:deep/)?(\w+)")
_EPOCH = re.compile(r"(\w+)/epoch_(\d+)/(\w+)")
_KINDS: dict[str, tuple[str, Split]] = {
    "rollout": ("batch", "train"),
    "trial_eval": ("trial", "train"),
    "selection_eval": ("gate", "selection"),
    "appendix_selection_eval": ("gate of the notes", "selection"),
    "rollout_prev": ("previous skill", "train"),
    "rollout_curr": ("current skill", "train"),
}
_ORDER = tuple(_KINDS)
ROWS = "results.jsonl"
_NO_ROLLOUTS = frozenset({"predictions", "patches", "logs", "skills", "ablation", "review"})


@dataclass(frozen=True)
class Measurement:
    """One rollout directory. `step` is None for what belongs to no step; `order` sorts by the run's own course."""

    directory: str
    label: str
    split: Split
    order: tuple[int, int]
    rows: tuple[RolloutRow, ...]
    step: int | None = None

    @property
    def kind(self) -> str:
        """The directory's own name."""
        return self.directory.rpartition("/")[2]


@dataclass(frozen=True)
class Place:
    """A rollout directory, not read yet; see `Measurement`."""

    directory: str
    label: str
    split: Split
    order: tuple[int, int]
    step: int | None = None


def places(run: Run) -> tuple[Place, ...]:
    """All rollout directories in the order of the run. Nothing of them is read, and items' own directories (there may
    be a million) are not looked into. One of an unknown kind is passed over."""
    found: list[Place] = []
    for directory in _directories(run):
        named = _named(directory, run)
        if named is not None:
            found.append(Place(directory, *named))
    return tuple(sorted(found, key=lambda p: (p.order, p.directory)))


def _directories(run: Run) -> Iterator[str]:
    for path, below, files in os.walk(run.root):
        if ROWS in files:
            yield Path(path).relative_to(run.root).as_posix()
            below.clear()
        below[:] = [name for name in below if name not in _NO_ROLLOUTS]


def measurements(run: Run) -> tuple[Measurement, ...]:
    """All of them, read now."""
    return tuple(
        Measurement(p.directory, p.label, p.split, p.order, run.draws(p.directory), p.step) for p in places(run)
    )


def _named(directory: str, run: Run) -> tuple[str, Split, tuple[int, int], int | None] | None:
    if directory in _ENDS:
        label, split, order = _ENDS[directory]
        return label, split, (order, 0), None
    if (match := _STEP.fullmatch(directory)) and match[3] in _KINDS:
        step, (words, split) = int(match[1]), _KINDS[match[3]]
        return f"step {step}, {words}", split, (10 * step, _ORDER.index(match[3])), step
    if (match := _EPOCH.fullmatch(directory)) and match[3] in _KINDS:
        epoch, (words, split) = int(match[2]), _KINDS[match[3]]
        last = max((record.step for record in run.steps if record.epoch == epoch), default=0)
        label = f"{match[1].replace('_', ' ')} after epoch {epoch}, {words}"
        return label, split, (10 * last + 5, _ORDER.index(match[3])), None
    return None


def metric_of(run: Run) -> Metric:
    """The gate's metric: what scores of the run are compared by."""
    name, weight = run.config.get("gate_metric"), run.config.get("gate_mixed_weight")
    known = name if isinstance(name, str) and name in ("hard", "soft", "mixed") else "hard"
    return Metric(known, float(weight)) if isinstance(weight, (int, float)) else Metric(known)


def value(row: RolloutRow, metric: Metric) -> float | None:
    """A row's score by the run's metric; None is missing."""
    if row.status == "missing" or row.hard is None:
        return None
    return metric.of(Scored(row.hard, row.soft if row.soft is not None else row.hard))


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what was measured."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None
