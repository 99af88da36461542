"""Why a run came to what it came to: counts of what became of candidates, why none was kept, signs of something broken.

Pure functions of the records. One fact has one word: a draft was kept to be proven later, `undecided` means that too
much is missing, and where no candidate reached the gate none is said to have failed there. The words of each verdict
are in `records.vocabulary`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from skillopt.records.schema import GateRecord, StepRecord, Summary
from skillopt.records.vocabulary import Action

_COUNTED: tuple[tuple[str, tuple[Action, ...]], ...] = (
    ("accepted", (Action.ACCEPT_NEW_BEST, Action.ACCEPT, Action.FORCE_ACCEPT)),
    ("rejected", (Action.REJECT,)),
    ("kept as drafts", (Action.DRAFT,)),
    ("undecided", (Action.UNDECIDED,)),
    ("skipped", (Action.SKIP_NO_PATCHES, Action.SKIP_NO_REWRITE)),
)


def nothing_measured(summary: Summary) -> bool:
    """True for a run that ended before its initial skill was measured: it says nothing of any skill."""
    return summary.stopped is not None and not summary.measured


def candidate_counts(steps: Sequence[StepRecord]) -> str:
    """`2 accepted, 1 rejected, 0 undecided, 1 skipped`; drafts are named where the rule makes any."""
    found = Counter(record.gate.action for record in steps)
    counts = [(word, sum(found[action] for action in actions)) for word, actions in _COUNTED]
    return ", ".join(f"{count} {word}" for word, count in counts if count or word != "kept as drafts")


def why_nothing(summary: Summary, steps: Sequence[StepRecord]) -> str:
    """Why no candidate was kept, or a blank text when one was."""
    actions = _actions(summary, steps)
    if any(action.kept for action in actions) and not (summary.unchanged and _only_drafts(actions)):
        return ""
    if summary.last_look is not None and summary.last_look.proven:
        return ""
    if not steps:
        return summary.stopped or "no step was finished"
    reasons: list[str] = []
    if summary.baseline_selection_hard is not None and summary.baseline_selection_hard >= 1:
        reasons.append("the initial skill already solves every selection item (ceiling), so nothing can beat it")
    vain = tried_in_vain(steps, unproven=summary.unproven_draft is not None)
    if vain:
        return "; ".join([*reasons, vain, *_stopped(summary)])
    gates = [record.gate for record in steps]
    reasons += _by_reason((g for g in gates if g.action.skipped), len(steps), "no usable edit was proposed")
    reasons += _by_reason((g for g in gates if g.action is Action.REJECT and not g.asked), len(steps), "rejected")
    for action, text in (
        (Action.REJECT, "the candidate did not beat the current skill"),
        (Action.DRAFT, "the candidate was kept as a draft, and no draft was proven"),
        (Action.UNDECIDED, "too much was missing to decide"),
    ):
        count = sum(g.action is action and (g.asked or action is not Action.REJECT) for g in gates)
        if count:
            reasons.append(f"{count} of {len(steps)} steps: {text}")
    return "; ".join([*reasons, *_stopped(summary)])


def tried_in_vain(steps: Sequence[StepRecord], *, unproven: bool = False) -> str:
    """What became of the lines of a factorial search that kept none; blank for a run of another search. `unproven`: its
    last draft failed at the look."""
    last = steps[-1].factorial if steps else None
    if last is None:
        return ""
    if unproven:
        return f"its draft of {last.kept} of the {last.lines} lines that were tried was not proven"
    if last.kept:
        return "the lines that are believed to help spell a sealed answer when they stand together"
    if last.lines:
        return f"none of the {last.lines} lines that were tried is believed to help"
    if any(record.factorial is not None and record.factorial.optimizer_calls for record in steps):
        return "the optimizer proposed no edit that could be tried"
    return "the optimizer was not asked: no training task failed"


def _stopped(summary: Summary) -> list[str]:
    return [f"the run was stopped: {summary.stopped}"] if summary.stopped else []


def _actions(summary: Summary, steps: Sequence[StepRecord]) -> list[Action]:
    """What became of every candidate: of steps, of their notes and of epoch ends."""
    notes = [record.notes.appendix.action for record in steps if record.notes is not None]
    return [*(record.gate.action for record in steps), *notes, *(end.action for end in summary.epoch_ends)]


def _only_drafts(actions: Iterable[Action]) -> bool:
    """True when all that was kept were drafts that nothing proved."""
    return all(action is Action.DRAFT for action in actions if action.kept)


def _by_reason(gates: Iterable[GateRecord], total: int, otherwise: str) -> list[str]:
    found = Counter(gate.reason or otherwise for gate in gates)
    return [f"{count} of {total} steps: {text}" for text, count in found.items()]


def alarms(summary: Summary, steps: Sequence[StepRecord]) -> list[str]:
    """Signs that something is broken rather than unhelpful."""
    found: list[str] = []
    scores = [r.gate.candidate_gate_score for r in steps if r.gate.candidate_gate_score is not None]
    if len(scores) > 1 and not any(scores) and (summary.baseline_selection_hard or 0) > 0:
        found.append(f"all {len(scores)} measured candidates scored 0 while the initial skill did not: look at one")
    dropped = sum(r.n_dropped_replies for r in steps) + sum(end.n_dropped_replies for end in summary.epoch_ends)
    if dropped:
        found.append(f"{dropped} optimizer replies could not be used (after one re-ask each)")
    reports = [r.edit_apply_summary for r in steps if r.edit_apply_summary is not None]
    failed, total = sum(report.skipped for report in reports), sum(report.total for report in reports)
    if failed:
        found.append(f"{failed} of {total} edits did not fit the skill's text and were not applied")
    broken = sum(report.errors for report in reports)
    if broken:
        found.append(
            f"{broken} of {total} edits met a fault of this program and were not applied: `edit_apply_report.json` of "
            "their step says what it was; please report it"
        )
    return found
