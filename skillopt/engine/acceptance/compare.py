"""A candidate against the current skill on the selection split, by the strict gate: what `strict` and `off` ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.core.rollout import Rollout
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.charging import answered
from skillopt.engine.decision import Measured
from skillopt.engine.measure import Draw, stream_decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.strict import StrictGate, Unit, failures_first, file_order
from skillopt.gate.verdict import Verdict
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True)
class Compared:
    """The strict gate's verdict with the rollouts it rests on, in file order; `measured` when all were asked."""

    verdict: Verdict
    rollouts: tuple[Rollout, ...]
    measured: Measured | None


async def compare(
    candidate: Candidate, state: TrainState, context: RunContext, *, early: bool, max_losses: int | None
) -> Compared:
    """Ask until the strict rule is settled; everything where `early` is off."""
    evaluation = context.config.evaluation
    against = state.current if state.current.rollouts else state.best  # a draft has no selection score
    order = in_gate_order(context, state, against)
    bonus, best = context.bonus(candidate.skill), state.best.rank

    def fresh() -> StrictGate:
        return StrictGate(
            order,
            early=early,
            coverage_floor=evaluation.coverage_floor,
            best_score=None if best is None else best - bonus,
            max_losses=max_losses,
            handicap=bonus - against.bonus,
        )

    rollouts, decision = await stream_decision(
        context,
        candidate.skill,
        draws(context, order),
        fresh,
        stage=Stage.GATE,
        step=candidate.step,
        without=answered(against.rollouts),
    )
    verdict, asked = decision.verdict(), in_file_order(order, rollouts)
    complete = not verdict.evidence.early_stopped
    measured = Measured(candidate.skill, asked, context.metric, bonus) if complete else None
    if evaluation.use_semantic_density:
        verdict = replace(verdict, density=(bonus, against.bonus))
    return Compared(verdict, asked, measured)


def in_gate_order(context: RunContext, state: TrainState, against: Measured) -> list[Unit]:
    """The selection split's units as a gate asks them, with what `against` scored."""
    evaluation = context.config.evaluation
    ordering = failures_first if evaluation.gate_order == "failures_first" else file_order
    return ordering(against.units(context.selection, evaluation.repeats), state.changed_outcomes)


def draws(context: RunContext, order: list[Unit], first: int = 0) -> list[Draw]:
    """Item and number of the draw of each ordered unit; draws are numbered from `first`."""
    repeats = context.config.evaluation.repeats
    return [(context.selection[u.index // repeats], first + u.index % repeats) for u in order]


def in_file_order(order: list[Unit], rollouts: list[Rollout]) -> tuple[Rollout, ...]:
    """The rollouts of an ordered prefix, back in the order of the file."""
    return tuple(r for _, r in sorted(zip((u.index for u in order), rollouts, strict=False), key=lambda p: p[0]))


def ranks_higher(measured: Measured | None, best: Measured) -> bool:
    """True when a measured text ranks above the best one."""
    if measured is None:
        return False
    return best.rank is None or (measured.rank is not None and measured.rank > best.rank)
