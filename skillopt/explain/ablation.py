"""An ablation as it runs: the full skill and the skill without each edit, measured on one split, results on disk.

It is no part of the training run: it has its own directory (`<run>/ablation`), journal, budget and bill, and only reads
the run's journal, whose answers are free. Results are written atomically after every text, so a stop leaves what was
measured. Test items are measured when the test split is asked for, and at no other time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import DataError, RunDirError, StopRun
from skillopt.core.item import Item
from skillopt.core.json_types import parse_json
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.run.spending.bill import cost_of, write_logs
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.summary.scores import score_summary
from skillopt.explain.edit_worth import ALPHA, Part, compare, items_to_show, parts, worse_p
from skillopt.explain.provenance import Traced
from skillopt.optimizer.context import Tally
from skillopt.records.beside.ablation import FOLDER, RESULT, AblationRecord, EditWorth, PrunedRecord, WorthRecord
from skillopt.records.codec import decode
from skillopt.records.events import Notice
from skillopt.records.schema import ScoreSummary, token_counts
from skillopt.records.vocabulary import Stage

PRUNED = "pruned_skill.md"
WITHOUT = "without"


@dataclass(frozen=True)
class Wish:
    """What was asked for. `threshold` is the largest estimate of an edit that may be pruned, `margin` the loss that the
    pruned skill as a whole must be shown not to have; both are differences of the gate's metric."""

    split: str = "selection"
    prune: bool = False
    threshold: float = 0.0
    margin: float = 0.05


@dataclass
class Ablation:
    """The result, filled as it is measured. `stop` is the error that ended it early."""

    skill: Skill
    wish: Wish
    rows: list[tuple[Part, WorthRecord | None]]
    full: ScoreSummary | None = None
    pruned: PrunedRecord | None = None
    stop: StopRun | None = None
    tally: Tally = field(default_factory=Tally)

    def record(self, cost: float | None = None) -> AblationRecord:
        """As far as it is known. `cost` is the list price of its calls."""
        return AblationRecord(
            skill_hash=self.skill.hash,
            split=self.wish.split,
            threshold=self.wish.threshold,
            margin=self.wish.margin,
            full=self.full,
            edits=tuple(self._row(part, effect) for part, effect in self.rows),
            pruned=self.pruned,
            stopped=str(self.stop) if self.stop else None,
            tokens=token_counts(self.tally.stages),
            cost=cost,
        )

    def _row(self, part: Part, effect: WorthRecord | None) -> EditWorth:
        return EditWorth(
            origin=part.cause.name,
            label=part.cause.label,
            lines=part.lines,
            without_hash=part.without.hash,
            saved=part.saved(self.skill),
            pays_nothing=effect.pays_nothing(self.wish.threshold) if effect else None,
            effect=effect or WorthRecord(),
        )


def split_items(context: RunContext, split: str) -> tuple[Item, ...]:
    """The items in use of a canonical split. Raises `DataError` when there is none."""
    items = {"selection": context.selection, "test": context.test}.get(split, context.splits.named(split))
    if not items:
        raise DataError(f"the {split} split has no item", hint="ask for another with --split")
    return items


async def ablate(context: RunContext, traced: Traced, wish: Wish) -> Ablation:
    """Measure everything that was wished. A stop (budget, dead endpoint) is in the result, with what was measured."""
    skill = traced.version.skill
    found = parts(traced)
    result = Ablation(skill, wish, [(part, None) for part in found])
    await asyncio.to_thread(_clear, context, result)
    try:
        full = await _measured(context, result, skill, 1 + len(found), 0)
        result.full = score_summary(full, metric=context.metric)
        await _write(context, result)
        context.emit(Notice(text=f"full skill measured; {len(found)} texts to go"))
        for n, part in enumerate(found):
            ablated = await _measured(context, result, part.without, 1 + len(found), n + 1)
            effect = compare(full, ablated, context.metric.value)
            result.rows[n] = (part, effect)
            await _write(context, result)
            context.emit(Notice(text=f"{n + 1} of {len(found)}: without {part.cause.label}: {effect.verdict}"))
        if wish.prune:
            result.pruned = await _prune(context, traced, result)
    except StopRun as error:
        result.stop = error
    await _write(context, result)
    await asyncio.to_thread(write_logs, context)
    return result


async def _measured(
    context: RunContext, result: Ablation, skill: Skill, of: int, n: int, *, first: int = 0
) -> list[Rollout]:
    items, repeats = split_items(context, result.wish.split), context.config.evaluation.repeats
    label = f"{result.wish.split}, text {n + 1} of {of}"
    with staged(context, Stage.EVAL, total=len(items) * repeats, label=label, clock=FOLDER):
        rollouts = await measure(context, skill, items, stage=Stage.EVAL, repeats=repeats, first=first)
    count_rollouts(result.tally, Stage.EVAL, rollouts)
    return rollouts


async def _prune(context: RunContext, traced: Traced, result: Ablation) -> PrunedRecord:
    """Leave out together what pays nothing alone, and measure that text and the full one on fresh draws.

    It is written only when "worse by the margin" is refuted for it as a whole: edits that pay nothing alone may do so
    together, and the ones that were chosen were lucky to be chosen.
    """
    wish, value = result.wish, context.metric.value
    names = tuple(part.cause.name for part, effect in result.rows if _prunable(context, effect, wish))
    text = traced.without(names).version.skill
    if not names or text == result.skill or text.is_blank:
        nothing = f"no measured edit has an estimate of {wish.threshold:g} or less"
        return PrunedRecord(left_out=names, reason="nothing would be left of the skill" if names else nothing)
    first = 0 if context.config.env.temperature == 0 else context.config.evaluation.repeats
    full = await _measured(context, result, result.skill, 2, 0, first=first)
    pruned = await _measured(context, result, text, 2, 1, first=first)
    effect = compare(pruned, full, value)
    p = worse_p(full, pruned, value, margin=wish.margin)
    enough = _covered(context, effect)
    accepted = enough and p <= ALPHA
    await asyncio.to_thread(_keep, context, text if accepted else None)
    return PrunedRecord(
        left_out=names,
        accepted=accepted,
        reason=_reason(p, wish.margin, effect.n, enough=enough),
        skill_hash=text.hash,
        saved=Part(traced.causes[names[0]], (), text).saved(result.skill),
        difference=effect,
        p_worse=p,
        full=score_summary(full, metric=context.metric),
        pruned=score_summary(pruned, metric=context.metric),
    )


def _prunable(context: RunContext, effect: WorthRecord | None, wish: Wish) -> bool:
    return effect is not None and _covered(context, effect) and effect.pays_nothing(wish.threshold)


def _covered(context: RunContext, effect: WorthRecord) -> bool:
    """Too many missing outcomes prove nothing of either text."""
    return effect.n >= context.config.evaluation.coverage_floor * effect.total


def _reason(p: float, margin: float, n: int, *, enough: bool) -> str:
    if not enough:
        return "too many outcomes are missing to compare the two"
    if p <= ALPHA:
        return f"not worse by {margin:g} (p = {p:.4f} on {n} items)"
    needed = items_to_show(margin)
    more = f"; {needed} items without a difference would show it" if needed is not None and needed > n else ""
    return f"not shown to be within {margin:g} of the full skill (p = {p:.4f} on {n} items){more}"


def _keep(context: RunContext, text: Skill | None) -> None:
    """Write the pruned skill, or take away the one of an earlier ablation that no longer holds."""
    if text is not None:
        context.run_dir.write(PRUNED, text.text)
    else:
        (context.run_dir.root / PRUNED).unlink(missing_ok=True)


def _clear(context: RunContext, result: Ablation) -> None:
    """Take away what an ablation of another text, or on another split, has left here. A result that cannot be read is
    written anew."""
    root = context.run_dir.root
    try:
        before = decode(AblationRecord, parse_json((root / RESULT).read_bytes()), RESULT)
    except (OSError, ValueError, RunDirError):
        return
    if (before.skill_hash, before.split) != (result.skill.hash, result.wish.split):
        for path in (root / PRUNED, *sorted((root / WITHOUT).glob("*.md"))):
            path.unlink(missing_ok=True)


async def _write(context: RunContext, result: Ablation) -> None:
    record = result.record(cost_of(context, result.tally.stages))
    await asyncio.to_thread(_write_views, context, result.rows, record)


def _write_views(context: RunContext, rows: Sequence[tuple[Part, WorthRecord | None]], record: AblationRecord) -> None:
    for part, _ in rows:
        context.run_dir.write(f"{WITHOUT}/{part.cause.name.replace('/', '-')}.md", part.without.text)
    context.run_dir.write(RESULT, record.to_json())


def place_of(run: Path) -> Path:
    """The directory of a run's ablation."""
    return run / FOLDER
