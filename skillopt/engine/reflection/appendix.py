"""The notes of a step on their way into the skill's appendix: a change like any other.

After a step's own verdict, or where it had no candidate, the notes of all its replies are put into the current skill's
appendix and that text is measured: by default it passes the same gate as an edit, in forced mode it is kept as
measured. Notes have a gate of their own and are not folded into the step's candidate, because one bad reminder would
sink its edits and a bad edit its reminders. Notes that the gate refused stay pending, listed, and are tried again when
an analyst asks for them again; what could not be decided, or entered a draft that was given up later, is tried again
with the next notes. A text that was refused on the same skill is not asked about twice. All of it follows from recorded
answers, so a resumed run has the same pending notes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from skillopt.core.editing.regions import appendix_notes, note_key, with_appendix
from skillopt.core.leakage import VetoedEdit
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.decide import decide
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.reflection.outcome import BYPASS, AppendixOutcome
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.build import without_leaks
from skillopt.engine.stages.result import StepResult
from skillopt.engine.state import TrainState
from skillopt.optimizer.appendix import PendingNote, consolidate, new_notes
from skillopt.optimizer.context import Tally
from skillopt.records.vocabulary import Stage

STAGE = Stage.APPENDIX
Settled = tuple[TrainState, AppendixOutcome]
"""The state and what became of the notes, as far as it is known."""


async def try_notes(
    rule: AcceptanceRule, step: StepResult, state: TrainState, context: RunContext
) -> AsyncGenerator[Settled]:
    """Try the notes of a step: what is known before they are measured, then what became of them. Raises `StopRun`; the
    first account stands then. Without skill-aware reflection nothing happens.
    """
    if not context.skill_aware:
        return
    skill, number = state.current.skill, step.plan.step
    before = appendix_notes(skill)
    state = replace(state, pending=_absent(state.pending, appendix_notes(state.best.skill)))
    proposed = step.reflected.notes
    undecided = [p.note for p in state.pending if p.undecided]
    fresh, vetoed = _without_leaks(context, skill, new_notes(before, [*undecided, *proposed]))
    done = AppendixOutcome(
        number,
        proposed,
        before,
        before,
        _absent(state.pending, before),
        vetoed=vetoed,
        forced=not context.config.optimizer.skill_aware_gate_with_selection,
    )
    if not fresh:
        yield state, replace(done, reason="no new note")
        return
    waiting = replace(
        done, pending=_pending(state, fresh, number, refused=""), reason="not measured: the run was stopped"
    )
    yield state, waiting
    done = await _shortened(context, waiting, step.skill, (*before, *fresh), step.tally)
    candidate = with_appendix(skill, done.tried)
    refused = ""
    if candidate == skill:
        done = replace(done, reason="the shortened list is the one that the skill has")
    elif any(p.refused == candidate.hash for p in state.pending):
        done, refused = replace(done, reason="this text was refused before"), candidate.hash
    else:
        yield state, replace(done, candidate=candidate)
        wanted = Candidate(candidate, f"appendix_step_{number:04d}", number, forced=done.forced)
        decision = await decide(rule, wanted, state, context, step.tally, epoch=step.plan.epoch, stage=STAGE)
        state = state.after(decision)
        done = replace(
            done,
            candidate=candidate,
            decision=decision,
            reason=BYPASS if done.forced and decision.kept else decision.verdict.reason,
            after=appendix_notes(state.current.skill),
        )
        refused = candidate.hash if decision.verdict.action == "reject" else ""
    pending = _pending(state, fresh, number, refused=refused)
    if done.decision is not None and done.decision.verdict.accepted:
        pending = _absent(pending, fresh)  # in the skill, in their own words or in those of a shorter list
    yield replace(state, pending=pending), replace(done, pending=_absent(pending, done.after))


def _absent(pending: Sequence[PendingNote], notes: Sequence[str]) -> tuple[PendingNote, ...]:
    """The pending notes that are not among `notes`."""
    known = {note_key(note) for note in notes}
    return tuple(p for p in pending if note_key(p.note) not in known)


def _pending(state: TrainState, fresh: Sequence[str], step: int, *, refused: str) -> tuple[PendingNote, ...]:
    """The pending notes after `fresh` did not enter. `refused` is the hash of the text that the gate refused, or blank
    when it did not decide. A note that was pending keeps its place and its first step."""
    rows = {note_key(p.note): p for p in state.pending}
    for note in fresh:
        known = rows.get(note_key(note))
        rows[note_key(note)] = PendingNote(known.note if known else note, known.step if known else step, refused)
    return tuple(rows.values())


def _without_leaks(
    context: RunContext, skill: Skill, notes: Sequence[str]
) -> tuple[tuple[str, ...], tuple[VetoedEdit, ...]]:
    """The notes that copy no item and no answer, and what was vetoed."""
    clean, vetoed = without_leaks(context, skill, "\n".join(notes))
    return tuple(line for line in clean.splitlines() if line), tuple(vetoed)


async def _shortened(
    context: RunContext, done: AppendixOutcome, skill: Skill, notes: tuple[str, ...], tally: Tally
) -> AppendixOutcome:
    """The account with the notes to be tried: consolidated, when there are more than the threshold allows and a
    shorter list comes back. `skill` is the one that the step found."""
    threshold = context.config.optimizer.skill_aware_consolidate_threshold
    if not threshold or len(notes) <= threshold:
        return replace(done, tried=notes)
    result = await consolidate(notes, context.stage_context(tally))
    shorter, known = result.notes, {note_key(n) for n in notes}
    invented = [n for n in shorter if note_key(n) not in known]
    lost, vetoed = result.lost, tuple[VetoedEdit, ...]()
    if not lost:
        clean, vetoed = _without_leaks(context, skill, invented)
        lost = "the shortened list was vetoed: it copies items or answers" if len(clean) < len(invented) else ""
    done = replace(done, vetoed=(*done.vetoed, *vetoed), not_consolidated=lost)
    return replace(done, tried=notes) if lost else replace(done, tried=shorter, consolidated=len(notes) - len(shorter))
