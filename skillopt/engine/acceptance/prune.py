"""Pruning a draft before it is looked at: every edit since the last proof is left out once, on training items.

A harmful edit that came in by luck, or on the back of useful ones, costs accuracy as long as it stays. Leaving it out
wins what it broke, and a trial shows that cheaply: the items the draft fails are asked first, and leaving out a useful
edit wins none of them. Nothing is asked of the selection split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.config.derived import LEAST_TRIAL
from skillopt.core.aio import gather_all
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import Fallback, apply_patch
from skillopt.core.editing.regions import region_text, slow_update_text, with_slow_update, without_empty_regions
from skillopt.core.rollout import Rollout
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.engine.acceptance.trial import try_on
from skillopt.engine.decision import Trial
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.scripts import file_faults


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


@dataclass(frozen=True)
class _Draft:
    """How a draft is made of the proven skill: edits in order, then the slow update's guidance (None: as it was)."""

    base: Skill
    edits: tuple[Edit, ...]
    guidance: str | None
    fallback: Fallback

    @property
    def parts(self) -> int:
        """What can be left out: every edit, and the guidance last."""
        return len(self.edits) + (self.guidance is not None)

    def without(self, left_out: Sequence[int]) -> Skill:
        """The draft without some of its parts."""
        kept = tuple(e for n, e in enumerate(self.edits) if n not in left_out)
        skill = apply_patch(self.base, Patch(kept), insert_after_fallback=self.fallback)[0]
        if region_text(skill, SLOW_UPDATE) is None and self.guidance is None:
            return skill
        guided = self.guidance is not None and len(self.edits) not in left_out
        return with_slow_update(skill, self.guidance or "") if guided else skill


async def prune(
    context: RunContext,
    base: Skill,
    draft: Skill,
    edits: Sequence[Edit],
    known: Sequence[Rollout],
    *,
    step: int | None,
    budget: int | None = None,
    clearly: bool = False,
) -> Pruned:
    """Leave out what harms: edits, and guidance of a slow update. `known` are the draft's training rollouts.

    `budget` is the most that trying each may ask; neighbours are left out together where it allows no trial for each.
    With `clearly` only what breaks more than chance would is left out. A draft that these do not make (notes came in
    between), or one part alone, is left as it is.
    """
    made = _made_of(context, base, draft, edits)
    whole = Pruned(draft, made.edits)
    if made.parts < 2 or not known or without_empty_regions(made.without(()).text) != without_empty_regions(draft.text):
        return whole
    groups = _groups(made.parts, budget)
    if budget is not None:
        known = known[: max(1, budget // len(groups))]

    async def tried(left_out: Sequence[int]) -> tuple[Skill, Trial | None]:
        skill = made.without(left_out)
        if skill in (draft, base) or await file_faults(context, draft, skill):
            return skill, None
        return skill, await try_on(context, skill, known, {}, step=step)

    alone = await gather_all([tried(group) for group in groups])
    asked = [r for _, trial in alone if trial for r in trial.rollouts]
    harmful = [n for n, (_, trial) in enumerate(alone) if _harms(trial, clearly=clearly)]
    if not harmful:
        return Pruned(draft, made.edits, rollouts=tuple(asked))
    if len(harmful) == 1:
        skill, trial = alone[harmful[0]]
    else:
        skill, trial = await tried([part for n in harmful for part in groups[n]])
        asked += trial.rollouts if trial else ()
        if trial is None or not trial.passed:  # together they do not hold what each promised: the best single one
            harmful = [max(harmful, key=lambda n: (_net(alone[n][1]), -n))]
            skill, trial = alone[harmful[0]]
    out = {part for n in harmful for part in groups[n]}
    left = tuple(e for n, e in enumerate(made.edits) if n not in out)
    removed = tuple(e for n, e in enumerate(made.edits) if n in out)
    if made.guidance is not None and len(made.edits) in out:
        removed = (*removed, Edit("delete", target=made.guidance))
    return Pruned(skill, left, removed, tuple(asked), trial)


def _made_of(context: RunContext, base: Skill, draft: Skill, edits: Sequence[Edit]) -> _Draft:
    guidance = slow_update_text(draft)
    return _Draft(
        base,
        tuple(edits),
        guidance if guidance != slow_update_text(base) else None,
        context.config.optimizer.insert_after_fallback,
    )


def _groups(parts: int, budget: int | None) -> list[tuple[int, ...]]:
    """Parts that are left out together: each alone, or as few neighbours as the budget asks for."""
    count = parts if budget is None else max(1, min(parts, budget // LEAST_TRIAL))
    size = -(-parts // count)
    return [tuple(range(at, min(at + size, parts))) for at in range(0, parts, size)]


def _harms(trial: Trial | None, *, clearly: bool) -> bool:
    """True when the draft is better without what this trial left out."""
    if trial is None or not trial.passed:
        return False
    evidence = trial.verdict.evidence
    return not clearly or _net(trial) > math.sqrt(len(evidence.wins) + len(evidence.losses))


def _net(trial: Trial | None) -> int:
    return len(trial.verdict.evidence.wins) - len(trial.verdict.evidence.losses) if trial else 0
