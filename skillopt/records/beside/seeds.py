"""`seeds.json`: what several runs of one configuration came to together, a row a seed and what may be said of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonValue, parse_json
from skillopt.records.codec import OMIT, decode, encode_record
from skillopt.records.summary import Difference, ScoreSummary

SEEDS_FILE = "seeds.json"
SEEDS_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class SeedRow:
    """One run. `directory` is relative to the parent. `p` is the one-sided p-value of its proof on the selection split,
    None where nothing was proven or the rule has no single proof."""

    seed: int
    directory: str
    verdict: str = ""
    stopped: str | None = None
    best_skill_hash: str = ""
    changed: bool = False
    selection: float | None = None
    test: ScoreSummary = field(default_factory=ScoreSummary)
    difference: Difference | None = None
    """Best minus initial skill on the sealed test; None where it was not measured. A run that kept its initial skill
    has a difference of zero."""
    p: float | None = None
    proven: bool = False
    """At the run's own level."""
    proven_jointly: bool = False
    """After Holm's correction over all runs."""
    reading: int = 0
    """Number of its latest reading of the sealed test among all readings of these runs; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class SeedsSummary:
    """All runs. `mean` is the gain averaged over runs, an item at a time; `chosen` is the seed whose skill lies beside
    this file as `best_skill.md`, None where the initial skill does."""

    version: int = SEEDS_VERSION
    rows: tuple[SeedRow, ...] = ()
    metric: str = "hard"
    alpha: float | None = None
    """Level of the joint proof; None under a rule that has none."""
    baseline: ScoreSummary = field(default_factory=ScoreSummary)
    mean: Difference | None = None
    worst: float | None = None
    best: float | None = None
    spread: float | None = None
    """Standard deviation of the runs' gains."""
    gained: int = 0
    gained_p: float | None = None
    """Sign test over runs: against "a run of this configuration gains no more often than it loses"."""
    readings: int = 0
    """How often the sealed test was read by these runs."""
    chosen: int | None = None
    verdict: str = ""
    notices: tuple[str, ...] = field(default=(), metadata=OMIT)

    def to_json(self) -> dict[str, JsonValue]:
        """The file."""
        return encode_record(self)


def read_seeds(directory: Path) -> SeedsSummary:
    """`seeds.json` of a parent directory. Raises `RunDirError` when there is none or it is damaged."""
    path = directory / SEEDS_FILE
    try:
        return decode(SeedsSummary, parse_json(path.read_bytes()), str(path))
    except OSError as error:
        raise RunDirError(f"{path}: {error.strerror}", hint="name the parent directory of runs with --seeds") from error
    except ValueError as error:
        raise RunDirError(f"{path} is damaged", hint="run the training command again: it writes it anew") from error
