"""Stage 5 of a step: a change becomes a candidate skill, by edits or by a rewrite, and what leaks is taken out.

A leaking edit or suggestion is dropped alone (`optimizer.leakage: strip`) or with its whole proposal (`refuse`). A
document cannot be stripped: one whose new text leaks is vetoed. What the skill in force or the initial one already says
is no leak. What would break the skill's form or put a secret into it is vetoed too (`optimizer.veto`). Vetoes go
with the proposal, so that the record is the same in whatever order calls end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.editing.change import Change, Documents, Rewrite, Suggestion, Suggestions, with_items
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.leakage import VetoedEdit, strip_leaks
from skillopt.core.skill import Skill
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.context import StepContext
from skillopt.engine.stages.scripts import without_broken_files
from skillopt.optimizer.aggregate import merge
from skillopt.optimizer.race import Proposal
from skillopt.optimizer.rewrite import candidate, chosen_document, rewrite
from skillopt.optimizer.veto import faults, in_proposed_order, lines_without_faults, without_faults

JOINED = "joined: both won their race, on different items"


async def build(ctx: StepContext, name: str, change: Change) -> Proposal:
    """The proposal that a change makes of the step's skill. A rewrite without usable text leaves the skill as it is."""
    if isinstance(change, Patch):
        return await _whole(ctx, edited(ctx, name, change))
    vetoed: list[VetoedEdit] = []
    if isinstance(change, Suggestions):
        kept, vetoed = _without_leaks(ctx, change.items)
        change = replace(change, items=kept)
        if kept:
            result = await rewrite(kept, ctx.skill, ctx.optimizer, buffer_text=ctx.buffer_text)
        else:
            result = Rewrite(
                lost=f"all suggestions were vetoed: one {vetoed[0].leaks[0]}" if vetoed else "no suggestion"
            )
    else:
        change = replace(change, items=(change.first,) if change.first else ())
        result = chosen_document(change)
    skill, result, veto = _adopted(ctx, result)
    return Proposal(name, change, skill, rewrite=result, vetoed=(*vetoed, *veto))


def edited(ctx: StepContext, name: str, patch: Patch) -> Proposal:
    """Apply a patch, without its leaking and its faulty edits; the rest of the skill stays as it is."""
    context, before = ctx.run, ctx.skill
    optimizer, proposed = context.config.optimizer, patch
    vetoed: list[VetoedEdit] = []
    if optimizer.leakage != "off":
        kept, vetoed = strip_leaks(before, patch, context.leaks, allowed=context.initial.text)
        patch = Patch(reasoning=patch.reasoning) if vetoed and optimizer.leakage == "refuse" else kept
    patch, faulty = without_faults(optimizer, before, patch)
    vetoed = in_proposed_order([*vetoed, *faulty], proposed)
    skill, report = apply_patch(before, patch, insert_after_fallback=optimizer.insert_after_fallback)
    if optimizer.leakage != "off" and len(patch.edits) > 1:
        # Pieces that are harmless alone may spell an answer together.
        together = context.leaks.find(skill.text, allowed=_known(ctx))
        if together:
            vetoed.append(VetoedEdit(0, Edit("all edits together"), tuple(together)))
            patch = Patch(reasoning=patch.reasoning)
            skill, report = apply_patch(before, patch)
    return Proposal(name, patch, skill, report, vetoed=tuple(vetoed))


async def _whole(ctx: StepContext, proposal: Proposal) -> Proposal:
    """The proposal without the edits that would break a file of the package."""
    if not ctx.skill.files or not isinstance(proposal.change, Patch):
        return proposal
    patch, broken = await without_broken_files(ctx.run, ctx.skill, proposal.change)
    if not broken:
        return proposal
    fallback = ctx.run.config.optimizer.insert_after_fallback
    skill, report = apply_patch(ctx.skill, patch, insert_after_fallback=fallback)
    vetoed = in_proposed_order([*proposal.vetoed, *broken], proposal.change)
    return replace(proposal, change=patch, skill=skill, report=report, vetoed=tuple(vetoed))


async def join(
    ctx: StepContext, room: int | None, vetoed: list[VetoedEdit], first: Proposal, second: Proposal
) -> Proposal | None:
    """Both proposals in one, of at most `room` items (None: no limit). Items are put together; two documents take a
    merge call. None when nothing is added; what is taken out of the joined change is added to `vetoed`."""
    if isinstance(first.change, Documents):
        change = await merge("joined", [first.change, second.change], ctx.skill, ctx.optimizer, None)
    else:
        fresh = [item for item in second.change.items if item not in first.change.items]
        if not fresh:
            return None
        left = None if room is None else max(0, room - len(first.change.items))
        if left == 0:
            return None
        change = with_items(first.change, [*first.change.items, *fresh[:left]])
    proposal = await build(ctx, "joined", replace(change, reasoning=JOINED))
    vetoed += proposal.vetoed
    return None if proposal.rewrite is not None and proposal.rewrite.lost else proposal


def _known(ctx: StepContext) -> str:
    """Text that may be said again: whoever repeats it copies nothing new."""
    return f"{ctx.run.initial.text}\n\n{ctx.skill.text}"


def _without_leaks(
    ctx: StepContext, suggestions: Sequence[Suggestion]
) -> tuple[tuple[Suggestion, ...], list[VetoedEdit]]:
    """The suggestions that may reach the writer, and the vetoed ones. Their motivation is no skill text and stays."""
    mode, kept, vetoed = ctx.run.config.optimizer.leakage, list[Suggestion](), list[VetoedEdit]()
    for number, item in enumerate(suggestions, start=1):
        text = f"{item.title}\n{item.instruction}"
        leaks = ctx.run.leaks.find(text, allowed=_known(ctx)) if mode != "off" else []
        if leaks:
            vetoed.append(VetoedEdit(number, Edit(item.type), tuple(leaks)))
        else:
            kept.append(item)
    return (() if vetoed and mode == "refuse" else tuple(kept)), vetoed


def _adopted(ctx: StepContext, result: Rewrite) -> tuple[Skill, Rewrite, list[VetoedEdit]]:
    """The candidate of a rewrite, the rewrite with the reason when there is none, and the veto."""
    if result.lost:
        return ctx.skill, result, []
    skill = candidate(ctx.skill, result.text)
    if skill is None:
        return ctx.skill, replace(result, lost="the rewritten skill has no text"), []
    leaks = ctx.run.leaks.find(skill.text, allowed=_known(ctx)) if _checks(ctx.run) else []
    found = leaks or faults(ctx.run.config.optimizer, ctx.skill, skill)
    if found:
        # Text and summary are left out of the result file: they may hold sealed text, or a secret.
        vetoed = Rewrite(lost=f"vetoed: the rewritten skill {found[0]}")
        return ctx.skill, vetoed, [VetoedEdit(0, Edit("whole document"), tuple(found))]
    return skill, result, []


def _checks(context: RunContext) -> bool:
    return context.config.optimizer.leakage != "off"


def without_leaks(context: RunContext, skill: Skill, guidance: str) -> tuple[str, list[VetoedEdit]]:
    """The guidance without lines that copy items or answers (`optimizer.leakage`) or would make an error of form
    (`optimizer.lint_veto`); blank when nothing may stay."""
    mode = context.config.optimizer.leakage
    guidance, faulty = lines_without_faults(context.config.optimizer, skill, guidance)
    if mode == "off" or not guidance:
        return guidance, faulty
    lines = Patch(tuple(Edit("append", content=line) for line in guidance.splitlines() if line.strip()))
    _, vetoed = strip_leaks(skill, lines, context.leaks, allowed=context.initial.text)
    if vetoed and mode == "refuse":
        return "", [*faulty, *vetoed]
    out = {leak.edit.content for leak in vetoed}
    clean = "\n".join(line for line in guidance.splitlines() if line not in out).strip()
    # Lines that are harmless alone may spell an answer together.
    together = context.leaks.find(clean, allowed=f"{context.initial.text}\n\n{skill.text}")
    if together:
        return "", [*faulty, *vetoed, VetoedEdit(0, Edit("all lines together"), tuple(together))]
    return clean, [*faulty, *vetoed]
