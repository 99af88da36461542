"""The climb on training items: what passes a trial against the current skill becomes the draft, and the search goes on
from it. Nothing is asked of the selection split."""

from __future__ import annotations

from dataclasses import replace

from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.trial import run_trial
from skillopt.engine.decision import Decision, Trial
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.futility import Luck
from skillopt.gate.verdict import Action, Evidence, Verdict


async def climb(candidate: Candidate, state: TrainState, context: RunContext, *, luck: Luck | None = None) -> Decision:
    """Try a candidate; it is the decision's draft when it passed. With `luck` a trial stops early that wins no more."""
    trial = await run_trial(context, candidate.skill, state, step=candidate.step, shown=candidate.shown, luck=luck)
    verdict = without_look(context, trial, "draft")
    kept = Decision(candidate.skill, candidate.origin, candidate.step, verdict)
    if trial is None:
        return kept
    kept = replace(kept, trials=(trial,))
    if not trial.passed:
        action: Action = "undecided" if trial.undecided else "reject"
        return replace(kept, verdict=without_look(context, trial, action))
    return replace(kept, draft=candidate.skill, edits=(*state.draft_edits, *candidate.edits))


def without_look(context: RunContext, trial: Trial | None, action: Action) -> Verdict:
    """The verdict of a candidate that the selection split was not asked about."""
    evidence = Evidence(total=len(context.selection) * context.config.evaluation.repeats)
    if trial is None:
        return Verdict("undecided", None, evidence, "nothing is known of the current skill on training items")
    found = trial.verdict.evidence
    if trial.undecided:
        reason = f"only {found.evaluated - found.missing} of {found.total} training outcomes could be measured"
        return Verdict("undecided", None, evidence, reason)
    if not found.evaluated:
        return Verdict(action, None, evidence, f"the current skill already solves all {found.total} trial items")
    tally = f"{len(found.wins)} won, {len(found.losses)} lost of {found.evaluated} training items"
    if action == "reject":
        return Verdict("reject", None, evidence, f"failed its trial: {tally}")
    return Verdict("draft", None, evidence, f"not proven yet: {tally}")
