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

import math
from collections.abc import Sequence

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import named, shuffled
from skillopt.engine.measure import measure, stream_decision
from skillopt.engine.session import Session
from skillopt.engine.standing import GateResult, Measured, Standing, Trial
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import proof_is_likely
from skillopt.gate.strict import StrictGate, Unit, failures_first, file_order
from skillopt.gate.verdict import Evidence, Verdict

TRIAL_SHARE = 0.5
"""Training items of a trial, as a share of the selection split, where `evaluation.gate_trial_items` is 0."""
LEAST_TRIAL = 8


async def paired_gate(
    session: Session, candidate: Skill, standing: Standing, *, step: int | None, shown: Sequence[Rollout]
) -> GateResult:
    """Try a candidate on training items; look at it on the selection split when a proof is likely."""
    trial = await run_trial(session, candidate, standing, step=step, shown=shown)
    if trial is not None and not trial.passed:
        return GateResult(_without_look(session, trial, "reject"), (), None, trial)
    ledger = ledger_of(session, standing)
    alpha = ledger.price(last=False)
    if not _worth_a_look(session, candidate, standing, trial, alpha):
        if trial is None:
            return GateResult(_without_look(session, trial, "undecided"), (), None)
        return GateResult(_without_look(session, trial, "undecided"), (), None, trial, draft=candidate)
    return await look(session, candidate, standing, alpha=alpha, step=step, trial=trial)


async def last_look(session: Session, standing: Standing, *, step: int | None) -> GateResult | None:
    """The end of a run: a draft that is not proven yet gets one look, with all that is left of the error budget."""
    if not standing.is_draft:
        return None
    alpha = ledger_of(session, standing).price(last=True)
    return await look(session, standing.current.skill, standing, alpha=alpha, step=step, trial=None)


def ledger_of(session: Session, standing: Standing) -> AlphaLedger:
    """The run's error budget, as its looks left it."""
    return standing.ledger or AlphaLedger.opened(session.config.evaluation.gate_alpha)


async def run_trial(
    session: Session,
    candidate: Skill,
    standing: Standing,
    *,
    step: int | None,
    shown: Sequence[Rollout],
    most: int | None = None,
) -> Trial | None:
    """Candidate against current skill on training items that the current one was rolled out on anyway.

    Items whose trajectories the optimizer has not just seen come first, at most `most` in all. None when nothing is
    known of that skill.
    """
    baseline = trial_items(session, standing, step=step, shown=shown)[:most]
    if not baseline:
        return None
    metric, evaluation = session.metric, session.config.evaluation
    units = [Unit(n, r.item.id, metric.value(r.outcome), r.item.id) for n, r in enumerate(baseline)]
    order = (failures_first if evaluation.gate_order == "failures_first" else file_order)(units, standing.flips)
    shorter = is_shorter(session, candidate, standing.current.skill)

    def fresh() -> StrictGate:
        return StrictGate(
            order,
            early=evaluation.gate_early_stop,
            coverage_floor=evaluation.coverage_floor,
            best_score=None,
            ties_win=shorter,
        )

    places = [(baseline[u.index].item, 0) for u in order]
    rollouts, decision = await stream_decision(
        session, candidate, places, fresh, stage="trial", step=step, shown_as="trial"
    )
    verdict = decision.verdict()
    return Trial(verdict.accepted, verdict, tuple(rollouts))


def trial_items(session: Session, standing: Standing, *, step: int | None, shown: Sequence[Rollout]) -> list[Rollout]:
    """The current skill's rollouts that a trial compares with, at most the configured number."""
    seen = {r.item.id for r in shown}
    known = standing.trained_on()
    known.update({r.item.id: r for r in shown if r.scored is not None and r.skill_hash == standing.current.skill.hash})
    generator = named(session.config.train.seed, "trial", step or 0)
    unseen = shuffled([r for i, r in known.items() if i not in seen], generator)
    batch = shuffled([r for i, r in known.items() if i in seen], generator)
    return [*unseen, *batch][: default_trial(session)]


def default_trial(session: Session) -> int:
    """Training items of one trial."""
    evaluation = session.config.evaluation
    share = math.ceil(TRIAL_SHARE * len(session.selection) * evaluation.repeats)
    return evaluation.gate_trial_items or max(LEAST_TRIAL, share)


def is_shorter(session: Session, candidate: Skill, than: Skill) -> bool:
    """True where a shorter text may be kept for its length: the margin is set and the text is shorter by the share."""
    evaluation = session.config.evaluation
    limit = (1 - evaluation.gate_shorter_by) * len(than.text)
    return evaluation.gate_shorter_margin > 0 and len(candidate.text) <= limit


def _worth_a_look(session: Session, candidate: Skill, standing: Standing, trial: Trial | None, alpha: float) -> bool:
    if trial is None or is_shorter(session, candidate, standing.best.skill):
        return True
    evidence = trial.verdict.evidence
    tried = max(1, evidence.total)
    climb = [*standing.climb, ((len(evidence.wins) - len(evidence.losses)) / tried, len(evidence.losses) / tried)]
    return proof_is_likely(climb, len(session.selection), alpha=alpha)


def _without_look(session: Session, trial: Trial | None, action: str) -> Verdict:
    evidence = Evidence(total=len(session.selection) * session.config.evaluation.repeats)
    if trial is None:
        return Verdict("undecided", None, evidence, "nothing is known of the current skill on training items")
    found = trial.verdict.evidence
    tally = f"{len(found.wins)} won, {len(found.losses)} lost of {found.evaluated} training items"
    if action == "reject":
        return Verdict("reject", None, evidence, f"failed its trial: {tally}")
    return Verdict("undecided", None, evidence, f"kept as a draft, not proven yet: {tally}")


async def look(
    session: Session, candidate: Skill, standing: Standing, *, alpha: float, step: int | None, trial: Trial | None
) -> GateResult:
    """Test a candidate against the proven skill on the selection split, at level `alpha`, and pay for it."""
    evaluation, best = session.config.evaluation, standing.best
    repeats = evaluation.repeats
    units = best.units(session.selection, repeats)
    order = (failures_first if evaluation.gate_order == "failures_first" else file_order)(units, standing.flips)
    terms = Terms(
        alpha=alpha,
        min_effect=evaluation.gate_min_effect,
        margin=evaluation.gate_shorter_margin if is_shorter(session, candidate, best.skill) else 0.0,
        futility=evaluation.gate_futility,
        max_losses=evaluation.gate_max_regressions,
        coverage_floor=evaluation.coverage_floor,
    )
    places = [(session.selection[u.index // repeats], u.index % repeats) for u in order]
    rollouts, decision = await stream_decision(
        session, candidate, places, lambda: PairedGate(order, terms, early=evaluation.gate_early_stop), stage="gate",
        step=step,
    )  # fmt: skip
    verdict = decision.verdict()
    asked = tuple(r for _, r in sorted(zip((u.index for u in order), rollouts, strict=False), key=lambda p: p[0]))
    ledger = ledger_of(session, standing).after(alpha, accepted=verdict.accepted)
    if not verdict.accepted:
        lost = verdict.action == "reject"
        return GateResult(verdict, asked, None, trial, draft=candidate, dropped=lost, ledger=ledger)
    measured = await remeasured(session, candidate, best, step=step)
    if verdict.score is None:  # an early acceptance has no score of its own; the fresh measurement is one
        verdict = Verdict(verdict.action, measured.gate_score, verdict.evidence, verdict.reason)
    return GateResult(verdict, asked, measured, trial, draft=candidate, ledger=ledger)


async def remeasured(session: Session, skill: Skill, before: Measured, *, step: int | None) -> Measured:
    """The proven skill on the whole selection split: on draws that no decision was taken on, where draws can differ."""
    repeats = session.config.evaluation.repeats
    first = 0 if session.config.env.temperature == 0 else 1 + max(r.repeat for r in before.rollouts)
    rollouts = await measure(session, skill, session.selection, stage="gate", step=step, repeats=repeats, first=first)
    return Measured(skill, tuple(rollouts), session.metric)
