"""What a skill is worth away from the target it was trained for: its gain there, and what share of the gain is left.

Measured by `compare`'s grid: every skill under every target, and "no skill" beside them on the same items. A gain is
the mean of the paired differences to "no skill" under the same target; the intervals of all gains hold at once. `kept`
is a gain against the one at home (the target the skill was trained for), `of_own` against that of the skill which was
trained for this target; both are None where that other gain is not above zero or was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from skillopt.api.keeping.columns import Keys
from skillopt.api.keeping.grid import NO_SKILL, Cell, Grid, targets_of
from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue, as_text
from skillopt.gate.interval import mean_interval
from skillopt.records.reading import open_run
from skillopt.store.atomic import write_json

RESULT = "transfer.json"
BEST = "best_skill.md"


@dataclass(frozen=True)
class Trained:
    """A skill and the target it was trained for; `home` is blank where that is not known."""

    skill: Path
    home: str = ""
    keys: Keys | None = None


def trained(path: Path) -> Trained:
    """A run's best skill with its target, or a skill file without one. Raises `DataError`."""
    if not path.exists():
        raise DataError(f"{path}: no such run or skill", hint="give run directories or skill files")
    if not (path / BEST).is_file():
        return Trained(path)
    config = open_run(path).config
    harness, model = (as_text(config.get(name)) for name in ("target_backend", "target_model"))
    ((label, keys),) = targets_of([harness] if harness else [], [model] if model else []).items()
    return Trained(path / BEST, label, keys)


@dataclass(frozen=True)
class Moved:
    """One skill under one target: its gain over no skill on `n` items."""

    skill: str
    target: str
    at_home: bool
    score: float
    gain: float
    n: int
    interval: tuple[float, float] | None
    kept: float | None = None
    of_own: float | None = None

    @property
    def words(self) -> str:
        """What may be said of it."""
        if self.interval is None:
            return "unclear"
        if self.interval[0] > 0:
            return "helps"
        return "harms" if self.interval[1] < 0 else "unclear"


def transfer_of(grid: Grid, homes: Mapping[str, str], *, alpha: float = 0.05) -> tuple[Moved, ...]:
    """Every skill under every target that was measured, target by target. `homes`: target by skill."""
    cells = {(cell.skill, cell.target): cell for cell in grid.cells}
    pairs = [(skill, target) for target in grid.targets for skill in grid.skills if skill != NO_SKILL]
    bare = {
        key: measured
        for key in pairs
        if (measured := _gain(cells.get(key), cells.get((NO_SKILL, key[1])), alpha / len(pairs))) is not None
    }
    owners = {target: skill for skill, target in homes.items() if target}
    found: list[Moved] = []
    for (skill, target), (score, gain, n, interval) in bare.items():
        home, own = bare.get((skill, homes.get(skill, ""))), bare.get((owners.get(target, ""), target))
        found.append(Moved(skill, target, homes.get(skill) == target, score, gain, n, interval,
                           _share(gain, home), _share(gain, own)))  # fmt: skip
    return tuple(found)


_Gain = tuple[float, float, int, "tuple[float, float] | None"]


def _gain(cell: Cell | None, bare: Cell | None, alpha: float) -> _Gain | None:
    if cell is None or bare is None:
        return None
    both = [
        (after, before)
        for item, after in cell.scores.items()
        if after is not None and (before := bare.scores.get(item)) is not None
    ]
    if not both:
        return None
    differences = [after - before for after, before in both]
    score, gain = sum(after for after, _ in both) / len(both), sum(differences) / len(both)
    return score, gain, len(both), mean_interval(differences, alpha=alpha)


def _share(gain: float, other: _Gain | None) -> float | None:
    return gain / other[1] if other is not None and other[1] > 0 else None


def write(moved: tuple[Moved, ...], homes: Mapping[str, str], grid: Grid) -> Path:
    """Write `transfer.json` beside the grid's own result."""
    path = grid.directory / RESULT
    write_json(path, to_json(moved, homes, grid))
    return path


def to_json(moved: tuple[Moved, ...], homes: Mapping[str, str], grid: Grid) -> dict[str, JsonValue]:
    """Everything as JSON values; `compare.json` beside it holds the scores of each item."""
    rows: list[JsonValue] = [{**asdict(one), "interval": list(one.interval or ()) or None, "says": one.words}
                             for one in moved]  # fmt: skip
    hashes: dict[str, JsonValue] = {name: skill.hash for name, skill in grid.skills.items()}
    return {"homes": dict(homes), "skills": hashes, "targets": list(grid.targets), "cost": grid.cost, "rows": rows}
