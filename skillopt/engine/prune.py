"""Pruning a draft before it is looked at: every edit since the last proof is left out once, on training items.

A harmful edit that came in by luck, or on the back of useful ones, costs accuracy as long as it stays. Leaving it out
wins what it broke, and a trial shows that cheaply: the items the draft fails are asked first, and leaving out a useful
edit wins none of them. Nothing is asked of the selection split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.aio import gather_all
from skillopt.core.edit import Edit, Patch
from skillopt.core.editor import Fallback, apply_patch
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.session import Session
from skillopt.engine.standing import Trial
from skillopt.engine.trial import try_on


@dataclass(frozen=True)
class Pruned:
    """A draft without the edits that harm it, and the trials of leaving each out."""

    skill: Skill
    edits: tuple[Edit, ...]
    """What is left."""
    removed: tuple[Edit, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    """All that was asked, to be counted."""
    trial: Trial | None = None
    """The pruned text's own trial against the draft; None when nothing was removed."""


def rebuilt(base: Skill, edits: Sequence[Edit], *, insert_after_fallback: Fallback) -> Skill:
    """The skill that these edits make of `base`."""
    return apply_patch(base, Patch(tuple(edits)), insert_after_fallback=insert_after_fallback)[0]


async def prune(
    session: Session, base: Skill, draft: Skill, edits: Sequence[Edit], known: Sequence[Rollout], *, step: int | None
) -> Pruned:
    """Leave out what harms. `known` are the draft's training rollouts. A draft that these edits alone do not make
    (notes or guidance came in between), or one edit alone, is left as it is."""
    fallback = session.config.optimizer.insert_after_fallback
    whole = Pruned(draft, tuple(edits))
    if len(edits) < 2 or not known or rebuilt(base, edits, insert_after_fallback=fallback) != draft:
        return whole

    async def without(left_out: Sequence[int]) -> tuple[Skill, Trial | None]:
        kept = [e for n, e in enumerate(edits) if n not in left_out]
        skill = rebuilt(base, kept, insert_after_fallback=fallback)
        if skill in (draft, base):
            return skill, None
        return skill, await try_on(session, skill, known, {}, step=step)

    alone = await gather_all([without([n]) for n in range(len(edits))])
    asked = [r for _, trial in alone if trial for r in trial.rollouts]
    harmful = [n for n, (_, trial) in enumerate(alone) if trial is not None and trial.passed]
    if not harmful:
        return Pruned(draft, tuple(edits), rollouts=tuple(asked))
    if len(harmful) == 1:
        skill, trial = alone[harmful[0]]
    else:
        skill, trial = await without(harmful)
        asked += trial.rollouts if trial else ()
        if trial is None or not trial.passed:  # together they do not hold what each promised: the best single one
            harmful = [max(harmful, key=lambda n: (_net(alone[n][1]), -n))]
            skill, trial = alone[harmful[0]]
    left = tuple(e for n, e in enumerate(edits) if n not in harmful)
    return Pruned(skill, left, tuple(edits[n] for n in harmful), tuple(asked), trial)


def _net(trial: Trial | None) -> int:
    return len(trial.verdict.evidence.wins) - len(trial.verdict.evidence.losses) if trial else 0
