"""A look: a candidate against the proven skill on the selection split, at a level that the error budget pays for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.config.derived import draws_differ
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.compare import draws, in_file_order, in_gate_order
from skillopt.engine.acceptance.trial import is_shorter
from skillopt.engine.charging import all_charged, answered
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.measure import measure, stream_decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.paired import PairedGate, Terms
from skillopt.records.vocabulary import Stage


async def look(
    candidate: Candidate, state: TrainState, context: RunContext, ledger: AlphaLedger, *, last: bool
) -> Decision:
    """Test a candidate against the proven skill and pay for it; `last` spends all that is left."""
    evaluation, best = context.config.evaluation, state.best
    alpha = ledger.price(last=last)
    order = in_gate_order(context, state, best)
    terms = Terms(
        alpha=alpha,
        min_effect=evaluation.gate_min_effect,
        margin=evaluation.gate_shorter_margin if is_shorter(context, candidate.skill, best.skill) else 0.0,
        futility=evaluation.gate_futility,
        max_losses=evaluation.gate_max_regressions,
        coverage_floor=evaluation.coverage_floor,
    )
    rollouts, gate = await stream_decision(
        context, candidate.skill, draws(context, order),
        lambda: PairedGate(order, terms, early=evaluation.gate_early_stop), stage=Stage.GATE, step=candidate.step,
        without=answered(best.rollouts),
    )  # fmt: skip
    verdict = gate.verdict()
    decision = Decision(
        candidate.skill, candidate.origin, candidate.step, verdict, in_file_order(order, rollouts),
        draft=candidate.skill,
        # What is shorter and not worse is no proven gain: it earns nothing back.
        ledger=ledger.after(alpha, accepted=verdict.accepted and not terms.margin),
    )  # fmt: skip
    if not verdict.accepted:
        return replace(decision, dropped=verdict.action == "reject")
    measured = await remeasured(context, candidate.skill, best, decision.rollouts, step=candidate.step)
    if measured.score is None or measured.score.coverage < evaluation.coverage_floor:
        n, total = (measured.score.n if measured.score else 0), len(measured.rollouts)
        reason = f"{verdict.reason}; but only {n} of {total} outcomes could be measured again, which is no bar"
        verdict = replace(verdict, action="undecided", score=None, reason=reason)
        return replace(decision, verdict=verdict, ledger=ledger.after(alpha, accepted=False))
    if verdict.score is None:  # an early acceptance has no score of its own; the fresh measurement is one
        verdict = replace(verdict, score=measured.gate_score)
    return replace(decision, verdict=verdict, measured=measured, promoted=True)


async def remeasured(
    context: RunContext, skill: Skill, before: Measured, looked: Sequence[Rollout], *, step: int | None
) -> Measured:
    """The proven skill on the whole selection split: on draws that no decision was taken on, where draws can differ.

    Where the fresh draw is missing the one of the look stands: if it was lucky, the bar is too high, never too low.
    """
    repeats = context.config.evaluation.repeats
    first = 1 + max(r.repeat for r in before.rollouts) if draws_differ(context.config) else 0
    fresh = await measure(context, skill, context.selection, stage=Stage.GATE, step=step, repeats=repeats, first=first)
    known = {(r.item.id, r.repeat): r for r in looked if r.scored is not None}
    fresh = all_charged(fresh, before.rollouts)
    filled = [r if r.scored is not None else known.get((r.item.id, r.repeat - first), r) for r in fresh]
    return Measured(skill, tuple(filled), context.metric)
