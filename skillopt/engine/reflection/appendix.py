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

from collections.abc import Sequence

from skillopt.core.regions import appendix_notes, note_key, with_appendix
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.proposal_gate import EpochWork, decide, verdict_fields
from skillopt.engine.build import without_leaks
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.engine.step_result import BYPASS, AppendixOutcome, StepWork
from skillopt.optimizer.appendix import PendingNote, consolidate, new_notes


class AppendixWork(EpochWork):
    """The notes of one step at the gate."""

    @property
    def origin(self) -> str:
        """The tag of a skill that they produce."""
        return f"appendix_step_{self.step:04d}"


async def flush(context: RunContext, state: TrainState, work: StepWork) -> None:
    """Try the notes of a step and record in `work.flush` what became of them. Raises `StopRun`.

    Without skill-aware reflection nothing happens.
    """
    if not context.skill_aware:
        return
    skill = state.current.skill
    before = appendix_notes(skill)
    state.pending = _absent(state.pending, appendix_notes(state.best.skill))
    proposed = tuple(n for sample in work.reflections for r in sample for n in r.notes)
    done = work.flush = AppendixOutcome(work.plan.step, proposed, before, before, tuple(_absent(state.pending, before)))
    done.forced = not context.config.optimizer.skill_aware_gate_with_selection
    undecided = [p.note for p in state.pending if p.undecided]
    fresh = _without_leaks(context, skill, done, new_notes(before, [*undecided, *proposed]))
    if not fresh:
        done.reason = "no new note"
        return
    done.reason = "not measured: the run was stopped"
    done.pending = tuple(_pending(state, fresh, work.plan.step, refused=""))
    done.tried = await _shortened(context, work, done, (*before, *fresh))
    candidate = with_appendix(skill, done.tried)
    refused = ""
    if candidate == skill:
        done.reason = "the shortened list is the one that the skill has"
    elif any(p.refused == candidate.hash for p in state.pending):
        done.reason, refused = "this text was refused before", candidate.hash
    else:
        await _ask_the_gate(context, state, work, done, candidate)
        refused = candidate.hash if done.gated is not None and done.gated.verdict.action == "reject" else ""
    pending = _pending(state, fresh, work.plan.step, refused=refused)
    if done.gated is not None and done.gated.verdict.accepted:
        pending = _absent(pending, fresh)  # in the skill, in their own words or in those of a shorter list
    state.pending = pending
    done.pending = tuple(_absent(pending, done.after))


async def _ask_the_gate(
    context: RunContext, state: TrainState, work: StepWork, done: AppendixOutcome, candidate: Skill
) -> None:
    gate = AppendixWork("appendix", work.plan.epoch, work.plan.step, work.tally)
    done.candidate = candidate
    done.gated = await decide(context, state, candidate, gate, forced=done.forced)
    done.verdict = verdict_fields(done.gated, candidate)
    done.reason = BYPASS if done.forced and done.kept else done.gated.verdict.reason
    done.after = appendix_notes(state.current.skill)


def _absent(pending: Sequence[PendingNote], notes: Sequence[str]) -> list[PendingNote]:
    """The pending notes that are not among `notes`."""
    known = {note_key(note) for note in notes}
    return [p for p in pending if note_key(p.note) not in known]


def _pending(state: TrainState, fresh: Sequence[str], step: int, *, refused: str) -> list[PendingNote]:
    """The pending notes after `fresh` did not enter. `refused` is the hash of the text that the gate refused, or blank
    when it did not decide. A note that was pending keeps its place and its first step."""
    rows = {note_key(p.note): p for p in state.pending}
    for note in fresh:
        known = rows.get(note_key(note))
        rows[note_key(note)] = PendingNote(known.note if known else note, known.step if known else step, refused)
    return list(rows.values())


def _without_leaks(context: RunContext, skill: Skill, done: AppendixOutcome, notes: Sequence[str]) -> tuple[str, ...]:
    """The notes that copy no item and no answer."""
    clean, vetoed = without_leaks(context, skill, "\n".join(notes))
    done.vetoed += vetoed
    return tuple(line for line in clean.splitlines() if line)


async def _shortened(
    context: RunContext, work: StepWork, done: AppendixOutcome, notes: tuple[str, ...]
) -> tuple[str, ...]:
    """The notes, consolidated when there are more than the threshold allows and a shorter list comes back."""
    threshold = context.config.optimizer.skill_aware_consolidate_threshold
    if not threshold or len(notes) <= threshold:
        return notes
    result = await consolidate(notes, context.stage_context(work.tally))
    done.not_consolidated = result.lost
    shorter, known = result.notes, {note_key(n) for n in notes}
    invented = [n for n in shorter if note_key(n) not in known]
    if not result.lost and len(_without_leaks(context, work.skill, done, invented)) < len(invented):
        done.not_consolidated = "the shortened list was vetoed: it copies items or answers"
    if done.not_consolidated:
        return notes
    done.consolidated = len(notes) - len(shorter)
    return shorter
