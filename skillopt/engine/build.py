"""Stage 5 of a step: a change becomes a candidate skill, by edits or by a rewrite, and what leaks is taken out.

A leaking edit or suggestion is dropped alone (`optimizer.leakage: strip`) or with its whole proposal (`refuse`). A
document cannot be stripped: one whose new text leaks is vetoed. What the skill in force or the initial one already says
is no leak. What would break the skill's form or put a secret into it is vetoed too (`engine.veto`). Vetoes are returned
with the proposal, so that the record is the same in whatever order calls end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.change import Change, Documents, Rewrite, Suggestion, Suggestions, with_items
from skillopt.core.edit import Edit, Patch
from skillopt.core.editor import apply_patch
from skillopt.core.leakage import LeakedEdit, strip_leaks
from skillopt.core.skill import Skill
from skillopt.engine.run.context import Session
from skillopt.engine.step_result import StepWork
from skillopt.optimizer.aggregate import merge
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.race import Proposal
from skillopt.optimizer.rewrite import candidate, chosen_document, rewrite
from skillopt.optimizer.veto import faults, in_proposed_order, lines_without_faults, without_faults

JOINED = "joined: both won their race, on different items"


async def build(session: Session, work: StepWork, ctx: StageContext, name: str, change: Change) -> Proposal:
    """The proposal that a change makes of the step's skill. A rewrite without usable text leaves the skill as it is."""
    if isinstance(change, Patch):
        return edited(session, work, name, change)
    leaked: list[LeakedEdit] = []
    if isinstance(change, Suggestions):
        kept, leaked = _without_leaks(session, work, change.items)
        change = replace(change, items=kept)
        if kept:
            result = await rewrite(kept, work.skill, ctx, buffer_text=work.buffer_text)
        else:
            result = Rewrite(
                lost=f"all suggestions were vetoed: one {leaked[0].leaks[0]}" if leaked else "no suggestion"
            )
    else:
        change = replace(change, items=(change.first,) if change.first else ())
        result = chosen_document(change)
    skill, result, veto = _adopted(session, work, result)
    return Proposal(name, change, skill, rewrite=result, leaked=(*leaked, *veto))


def edited(session: Session, work: StepWork, name: str, patch: Patch) -> Proposal:
    """Apply a patch, without its leaking and its faulty edits; the rest of the skill stays as it is."""
    optimizer, proposed = session.config.optimizer, patch
    leaked: list[LeakedEdit] = []
    if optimizer.leakage != "off":
        kept, leaked = strip_leaks(work.skill, patch, session.leaks, allowed=session.initial.text)
        patch = Patch(reasoning=patch.reasoning) if leaked and optimizer.leakage == "refuse" else kept
    patch, faulty = without_faults(optimizer, work.skill, patch)
    leaked = in_proposed_order([*leaked, *faulty], proposed)
    skill, report = apply_patch(work.skill, patch, insert_after_fallback=optimizer.insert_after_fallback)
    if optimizer.leakage != "off" and len(patch.edits) > 1:
        # Pieces that are harmless alone may spell an answer together.
        together = session.leaks.find(skill.text, allowed=_known(session, work))
        if together:
            leaked.append(LeakedEdit(0, Edit("all edits together"), tuple(together)))
            patch = Patch(reasoning=patch.reasoning)
            skill, report = apply_patch(work.skill, patch)
    return Proposal(name, patch, skill, report, leaked=tuple(leaked))


async def join(
    session: Session, work: StepWork, ctx: StageContext, first: Proposal, second: Proposal
) -> Proposal | None:
    """Both proposals in one. Items are put together; two documents take a merge call. None when nothing is added."""
    if isinstance(first.change, Documents):
        change = await merge("joined", [first.change, second.change], work.skill, ctx, None)
    else:
        fresh = [item for item in second.change.items if item not in first.change.items]
        if not fresh:
            return None
        room = None if work.budget is None else max(0, work.budget - len(first.change.items))
        if room == 0:
            return None
        change = with_items(first.change, [*first.change.items, *fresh[:room]])
    proposal = await build(session, work, ctx, "joined", replace(change, reasoning=JOINED))
    work.leaked += proposal.leaked
    return None if proposal.rewrite is not None and proposal.rewrite.lost else proposal


def _known(session: Session, work: StepWork) -> str:
    """Text that may be said again: whoever repeats it copies nothing new."""
    return f"{session.initial.text}\n\n{work.skill.text}"


def _without_leaks(
    session: Session, work: StepWork, suggestions: Sequence[Suggestion]
) -> tuple[tuple[Suggestion, ...], list[LeakedEdit]]:
    """The suggestions that may reach the writer, and the vetoed ones. Their motivation is no skill text and stays."""
    mode, kept, leaked = session.config.optimizer.leakage, list[Suggestion](), list[LeakedEdit]()
    for number, item in enumerate(suggestions, start=1):
        text = f"{item.title}\n{item.instruction}"
        leaks = session.leaks.find(text, allowed=_known(session, work)) if mode != "off" else []
        if leaks:
            leaked.append(LeakedEdit(number, Edit(item.type), tuple(leaks)))
        else:
            kept.append(item)
    return (() if leaked and mode == "refuse" else tuple(kept)), leaked


def _adopted(session: Session, work: StepWork, result: Rewrite) -> tuple[Skill, Rewrite, list[LeakedEdit]]:
    """The candidate of a rewrite, the rewrite with the reason when there is none, and the veto."""
    if result.lost:
        return work.skill, result, []
    skill = candidate(work.skill, result.text)
    if skill is None:
        return work.skill, replace(result, lost="the rewritten skill has no text"), []
    leaks = session.leaks.find(skill.text, allowed=_known(session, work)) if _checks(session) else []
    found = leaks or faults(session.config.optimizer, work.skill, skill)
    if found:
        # Text and summary are left out of the result file: they may hold sealed text, or a secret.
        vetoed = Rewrite(lost=f"vetoed: the rewritten skill {found[0]}")
        return work.skill, vetoed, [LeakedEdit(0, Edit("whole document"), tuple(found))]
    return skill, result, []


def _checks(session: Session) -> bool:
    return session.config.optimizer.leakage != "off"


def without_leaks(session: Session, skill: Skill, guidance: str) -> tuple[str, list[LeakedEdit]]:
    """The guidance without lines that copy items or answers (`optimizer.leakage`) or would make an error of form
    (`optimizer.lint_veto`); blank when nothing may stay."""
    mode = session.config.optimizer.leakage
    guidance, faulty = lines_without_faults(session.config.optimizer, skill, guidance)
    if mode == "off" or not guidance:
        return guidance, faulty
    lines = Patch(tuple(Edit("append", content=line) for line in guidance.splitlines() if line.strip()))
    _, leaked = strip_leaks(skill, lines, session.leaks, allowed=session.initial.text)
    if leaked and mode == "refuse":
        return "", [*faulty, *leaked]
    out = {leak.edit.content for leak in leaked}
    clean = "\n".join(line for line in guidance.splitlines() if line not in out).strip()
    # Lines that are harmless alone may spell an answer together.
    together = session.leaks.find(clean, allowed=f"{session.initial.text}\n\n{skill.text}")
    if together:
        return "", [*faulty, *leaked, LeakedEdit(0, Edit("all lines together"), tuple(together))]
    return clean, [*faulty, *leaked]
