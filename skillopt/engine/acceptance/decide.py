"""The one way in which a skill becomes current or best: a gate's verdict, settled.

Steps, slow updates, meta reflections and notes all come here. The strict rule asks the candidate on the selection split
against the current skill. The paired rule (`engine.paired`) climbs on training items and proves on the selection split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.edit import Edit
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.paired import paired_gate
from skillopt.engine.measure import stream_decision
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import GateResult, Measured, TrainState
from skillopt.gate.strict import StrictGate, failures_first, file_order
from skillopt.optimizer.context import Tally


def settle(state: TrainState, gated: GateResult, *, origin: str, step: int) -> None:
    """Let a verdict change the state. `origin` tags what made the candidate, `step` is the last step taken."""
    verdict = gated.verdict
    state.changed_outcomes.update((*verdict.evidence.wins, *verdict.evidence.losses))
    looked = gated.ledger is not None
    if gated.ledger is not None:
        state.ledger = gated.ledger
    if gated.draft is not None:
        state.take_draft(gated.draft, gated.trials, gated.edits, origin)
    if gated.dropped:
        state.drop_draft()
    if not verdict.accepted or gated.measured is None:
        return
    state.current, state.current_origin = gated.measured, origin
    best, now = state.best.rank, gated.measured.rank
    higher = best is None or (now is not None and now > best)
    if looked or (higher and state.ledger is None):  # under the paired rule only a look makes a best skill
        state.prove(step)


def count_gate(tally: Tally, gated: GateResult) -> None:
    """Add what a gate asked to a tally: training items under `trial`, selection items under `gate`."""
    asked = [r for trial in gated.trials for r in trial.rollouts]
    count_rollouts(tally, "trial", [*asked, *gated.extra])
    count_rollouts(tally, "gate", gated.rollouts)
    if gated.ledger is not None and gated.measured is not None:
        count_rollouts(tally, "gate", gated.measured.rollouts)


async def gate(
    context: RunContext,
    candidate: Skill,
    state: TrainState,
    *,
    step: int | None,
    shown: Sequence[Rollout] = (),
    edits: Sequence[Edit] = (),
) -> GateResult:
    """Decide on a candidate by the run's rule. `shown` are the training rollouts that it was made from, `edits` what
    makes it of the current skill; the paired rule may return a draft without some of them."""
    evaluation = context.config.evaluation
    if evaluation.gate_rule == "paired" and evaluation.use_gate:
        return await paired_gate(context, candidate, state, step=step, shown=shown, edits=edits)
    return await strict_gate(context, candidate, state, step=step)


async def strict_gate(context: RunContext, candidate: Skill, state: TrainState, *, step: int | None) -> GateResult:
    """The published rule: a strictly greater mean over the selection split, against the current skill."""
    evaluation = context.config.evaluation
    repeats = evaluation.repeats
    against = state.current if state.current.rollouts else state.best  # a draft has no selection score
    units = against.units(context.selection, repeats)
    ordering = failures_first if evaluation.gate_order == "failures_first" else file_order
    order = ordering(units, state.changed_outcomes)
    places = [(context.selection[u.index // repeats], u.index % repeats) for u in order]
    bonus, best = context.bonus(candidate), state.best.rank

    def fresh() -> StrictGate:
        return StrictGate(
            order,
            early=evaluation.gate_early_stop and evaluation.use_gate,
            coverage_floor=evaluation.coverage_floor,
            best_score=None if best is None else best - bonus,
            max_losses=evaluation.gate_max_regressions if evaluation.use_gate else None,
            handicap=bonus - against.bonus,
        )

    rollouts, decision = await stream_decision(context, candidate, places, fresh, stage="gate", step=step)
    verdict = decision.verdict()
    in_file_order = tuple(
        r for _, r in sorted(zip((u.index for u in order), rollouts, strict=False), key=lambda p: p[0])
    )
    complete = not verdict.evidence.early_stopped
    measured = Measured(candidate, in_file_order, context.metric, bonus) if complete else None
    if evaluation.use_semantic_density:
        verdict = replace(verdict, density=(bonus, against.bonus))
    if not evaluation.use_gate and measured is not None and verdict.action != "undecided":
        verdict = replace(
            verdict, action="force_accept", score=measured.gate_score, reason="the gate is off: kept as measured"
        )
    return GateResult(verdict, in_file_order, measured)
