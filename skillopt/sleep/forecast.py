"""What a night would cost, before a cent is spent: calls by stage, tokens, minutes, as ranges; and what it could show.

The low end is a night in which nothing fails in training, the high end one in which every rubric is judged and both
documents go through trial and confirmation. Caps cut the range. A price is known to nobody here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.core.json_types import JsonValue
from skillopt.sleep.mining.split import Shares, assigned
from skillopt.sleep.mining.tasks import Selection
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.task import Split
from skillopt.sleep.trial.power import Power, power_of

_TOKENS = (900, 4_000)
_SECONDS = (3.0, 12.0)
"""Of one call: a small prompt at a fast endpoint, and an agent's program with its own long prompt."""
Range = tuple[int, int]


@dataclass(frozen=True)
class Forecast:
    """A night's plan."""

    train: int
    val: int
    test: int
    stages: tuple[tuple[str, Range], ...]
    """(what for, calls from … to …)."""
    capped_at: int
    workers: int
    power: Power

    @property
    def calls(self) -> Range:
        """All calls, within the cap."""
        low, high = (sum(calls[end] for _, calls in self.stages) for end in (0, 1))
        return min(low, self.capped_at), min(high, self.capped_at)

    @property
    def tokens(self) -> Range:
        """Tokens in and out."""
        return self.calls[0] * _TOKENS[0], self.calls[1] * _TOKENS[1]

    @property
    def minutes(self) -> tuple[float, float]:
        """Wall-clock minutes."""
        low, high = (calls * seconds / self.workers / 60 for calls, seconds in zip(self.calls, _SECONDS, strict=True))
        return round(low, 1), round(high, 1)

    @property
    def sentence(self) -> str:
        """What the hold-out can show."""
        if self.power.short:
            return (
                f"{self.val} held-out tasks cannot prove anything ({self.power.least} are needed): proposals would be "
                f"staged as unproven; {self.power.short} more would do"
            )
        if self.power.gain is None:
            return f"{self.val} held-out tasks prove a gain only if nearly every one of them changes"
        return f"the smallest gain that {self.val} held-out tasks show four times in five is {self.power.gain:.0%}"

    def as_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {
            "n_train": self.train, "n_val": self.val, "n_test": self.test,
            "stages": {name: list(calls) for name, calls in self.stages},
            "calls": list(self.calls), "tokens": list(self.tokens), "minutes": list(self.minutes), "cost": None,
            "smallest_gain": self.power.gain, "error": self.power.error, "held_out_needed": self.power.least,
        }  # fmt: skip


def forecast(selection: Selection, settings: Settings, known: Mapping[str, Split]) -> Forecast:
    """The plan of a night on these drafts; splits that were decided stay, the others are as they would be drawn."""
    shares = Shares(settings.val_fraction, settings.test_fraction, settings.seed)
    tasks = [draft.task for draft in selection.drafts]
    splits = list(assigned(tasks, known, shares).values())
    train, val, test = (splits.count(name) for name in ("train", "val", "test"))
    pairs = sum(draft.is_pair for draft in selection.drafts)
    documents = int(settings.evolve_skill) + int(settings.evolve_memory)
    samples = 2 * val * settings.gate_repeats
    most = 2 * val * max(settings.gate_repeats, settings.gate_max_repeats)
    mined = len(tasks) if settings.llm_mine else 0
    unnamed = sum(not cluster.name for cluster in selection.clusters)
    dreams = train * settings.dream_factor
    incumbent = train * settings.dream_rollouts + val
    more = (dreams + settings.recall_k) * settings.dream_rollouts
    trial, confirm = documents * most, documents * samples
    judged = incumbent + more + trial + confirm
    stages: tuple[tuple[str, Range], ...] = (
        ("naming clusters", (0, unnamed)),
        ("mining", (mined, 2 * mined)),
        ("trying rubrics", (0, 6 * pairs + 3 * (len(tasks) - pairs) if settings.llm_mine else 0)),
        ("rewording", (dreams, 2 * dreams)),
        ("incumbent", (incumbent, incumbent + more)),
        ("reflecting", (0, 2 * documents)),
        ("trial", (0, trial)),
        ("confirmation", (0, confirm)),
        ("judging", (0, judged)),
    )
    level = settings.gate_alpha / max(1, documents)
    power = power_of(val, repeats=settings.gate_repeats, max_repeats=settings.gate_max_repeats, level=level)
    return Forecast(train, val, test, stages, settings.max_calls_per_night, settings.workers, power)
