"""The paired rule: training items climb, the selection split proves.

A candidate is tried on training items against the current skill (`trial`); what passes becomes the working draft, so
the search goes on from it. The draft is looked at on the selection split only when what it gained on training items
makes a proof likely, and once more at the end of the run; a look is a paired test against the proven (best) skill at a
level that the run's error budget pays for (`gate.alpha`). Trials ask nothing of the selection split and choose among
texts by other data, so no number of them can spoil a look. Verdicts: `accept_new_best` (proven), `undecided` (kept as
draft), `reject` (failed its trial, or looked worse: back to the proven skill).

A proven skill is measured again on fresh draws before it becomes the bar, so that a lucky draw does not stay one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.edit import Edit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.prune import prune
from skillopt.engine.acceptance.trial import is_shorter, run_trial
from skillopt.engine.measure import measure, stream_decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import GateResult, Measured, TrainState, Trial
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import proof_is_likely
from skillopt.gate.strict import failures_first, file_order
from skillopt.gate.verdict import Action, Evidence, Verdict


async def paired_gate(
    context: RunContext,
    candidate: Skill,
    state: TrainState,
    *,
    step: int | None,
    shown: Sequence[Rollout],
    edits: Sequence[Edit],
) -> GateResult:
    """Try a candidate on training items; look at it on the selection split when a proof is likely.

    `edits` made the candidate of the current skill; before a look, those of the whole draft that harm it are left out.
    """
    trial = await run_trial(context, candidate, state, step=step, shown=shown)
    if trial is None:
        return GateResult(_without_look(context, None, "undecided"), (), None)
    if not trial.passed:
        action: Action = "undecided" if trial.undecided else "reject"
        return GateResult(_without_look(context, trial, action), (), None, (trial,))
    all_edits = (*state.draft_edits, *edits)
    alpha = ledger_of(context, state).price(last=False)
    if not _worth_a_look(context, candidate, state, trial, alpha):
        verdict = _without_look(context, trial, "undecided")
        return GateResult(verdict, (), None, (trial,), draft=candidate, edits=all_edits)
    pruned = await prune(context, state.best.skill, candidate, all_edits, trial.rollouts, step=step)
    result = await look(context, pruned.skill, state, alpha=alpha, step=step)
    trials = (trial, pruned.trial) if pruned.trial else (trial,)
    return replace(result, trials=trials, edits=pruned.edits, removed=pruned.removed, extra=pruned.rollouts)


async def last_look(context: RunContext, state: TrainState, *, step: int | None) -> GateResult | None:
    """The end of a run: a draft that is not proven yet gets one look, with all that is left of the error budget."""
    if not state.is_draft:
        return None
    alpha = ledger_of(context, state).price(last=True)
    known = list(state.trained_on().values())[: len(context.selection)]
    draft = state.current.skill
    pruned = await prune(context, state.best.skill, draft, state.draft_edits, known, step=step)
    result = await look(context, pruned.skill, state, alpha=alpha, step=step)
    trials = (pruned.trial,) if pruned.trial else ()
    return replace(result, trials=trials, edits=pruned.edits, removed=pruned.removed, extra=pruned.rollouts)


def ledger_of(context: RunContext, state: TrainState) -> AlphaLedger:
    """The run's error budget, as its looks left it."""
    return state.ledger or AlphaLedger.opened(context.config.evaluation.gate_alpha)


def _worth_a_look(context: RunContext, candidate: Skill, state: TrainState, trial: Trial, alpha: float) -> bool:
    if is_shorter(context, candidate, state.best.skill):
        return True
    return proof_is_likely([*state.draft_gains, trial.draft_gain], len(context.selection), alpha=alpha)


def _without_look(context: RunContext, trial: Trial | None, action: Action) -> Verdict:
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
    return Verdict("undecided", None, evidence, f"kept as a draft, not proven yet: {tally}")


async def look(
    context: RunContext, candidate: Skill, state: TrainState, *, alpha: float, step: int | None
) -> GateResult:
    """Test a candidate against the proven skill on the selection split, at level `alpha`, and pay for it."""
    evaluation, best = context.config.evaluation, state.best
    repeats = evaluation.repeats
    units = best.units(context.selection, repeats)
    order = (failures_first if evaluation.gate_order == "failures_first" else file_order)(units, state.changed_outcomes)
    terms = Terms(
        alpha=alpha,
        min_effect=evaluation.gate_min_effect,
        margin=evaluation.gate_shorter_margin if is_shorter(context, candidate, best.skill) else 0.0,
        futility=evaluation.gate_futility,
        max_losses=evaluation.gate_max_regressions,
        coverage_floor=evaluation.coverage_floor,
    )
    places = [(context.selection[u.index // repeats], u.index % repeats) for u in order]
    rollouts, decision = await stream_decision(
        context, candidate, places, lambda: PairedGate(order, terms, early=evaluation.gate_early_stop), stage="gate",
        step=step,
    )  # fmt: skip
    verdict = decision.verdict()
    asked = tuple(r for _, r in sorted(zip((u.index for u in order), rollouts, strict=False), key=lambda p: p[0]))
    ledger = ledger_of(context, state).after(alpha, accepted=verdict.accepted)
    if not verdict.accepted:
        lost = verdict.action == "reject"
        return GateResult(verdict, asked, None, draft=candidate, dropped=lost, ledger=ledger)
    measured = await remeasured(context, candidate, best, step=step)
    if verdict.score is None:  # an early acceptance has no score of its own; the fresh measurement is one
        verdict = Verdict(verdict.action, measured.gate_score, verdict.evidence, verdict.reason)
    return GateResult(verdict, asked, measured, draft=candidate, ledger=ledger)


async def remeasured(context: RunContext, skill: Skill, before: Measured, *, step: int | None) -> Measured:
    """The proven skill on the whole selection split: on draws that no decision was taken on, where draws can differ."""
    repeats = context.config.evaluation.repeats
    first = 0 if context.config.env.temperature == 0 else 1 + max(r.repeat for r in before.rollouts)
    rollouts = await measure(context, skill, context.selection, stage="gate", step=step, repeats=repeats, first=first)
    return Measured(skill, tuple(rollouts), context.metric)
