"""What a skill's own fault counts as: a prompt that is too long with it, and was answered without it, scores 0.

A prompt that does not fit the target's context is refused for its length, and whether that is the skill's doing shows
on the same item: where another text was measured on it, the longer one is charged; where nothing else was, the outcome
stays missing. Nothing else is ever charged: a deadline that passed looks the same whether a skill or a slow hour was
the cause, so it stays missing, which no gate counts in a candidate's favour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.core.rollout import Rollout


def answered(rollouts: Iterable[Rollout]) -> frozenset[str]:
    """Items that were measured at least once."""
    return frozenset(r.item.id for r in rollouts if r.scored is not None)


def charged(rollout: Rollout, without: frozenset[str]) -> Rollout:
    """The rollout with what it counts as; `without` are the items that another text was measured on."""
    return replace(rollout, outcome=_counts_as(rollout.outcome)) if rollout.item.id in without else rollout


def all_charged(rollouts: Iterable[Rollout], against: Sequence[Rollout]) -> list[Rollout]:
    """The rollouts of a text beside those of another on the same items."""
    without = answered(against)
    return [charged(rollout, without) for rollout in rollouts]


def _counts_as(outcome: Outcome) -> Outcome:
    if not isinstance(outcome, Missing) or not outcome.too_long:
        return outcome
    return Scored(
        0.0, 0.0, fail_reason=f"too long for the target with this skill, and answered without: {outcome.error}"
    )
