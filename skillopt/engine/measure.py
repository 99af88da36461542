"""Measuring skills: whole splits, and the gate's streamed decision.

Decisions read ordered prefixes, so the number of workers changes speed and nothing else. A unit that could not be
measured is tried once more before the verdict; what is still missing then is missing, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.item import Item
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.session import Session
from skillopt.engine.standing import Measured, Standing
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.runner import run_batch
from skillopt.gate.stream import drive
from skillopt.gate.strict import StrictGate, Unit, failures_first, file_order
from skillopt.gate.verdict import Verdict

GATE_CERTAIN, GATE_SPECULATIVE, PREFETCH = 0, 5, 10
"""Priorities at the endpoint: what a decision needs, what it may need, what a later step may need."""

GATE_AHEAD = 8
"""Units begun on speculation for each that the gate certainly needs. Behind the failures a gate waits for losses, which
are rare (about one unit in ten or twenty): without looking ahead it would wait for them nearly one by one."""


async def measure(
    session: Session,
    skill: Skill,
    items: Sequence[Item],
    *,
    stage: str,
    step: int | None = None,
    repeats: int = 1,
    priority: int = GATE_CERTAIN,
) -> list[Rollout]:
    """Roll out a skill on items, all repeats, in file order (item-major)."""

    def progress(name: str, /, **data: Any) -> None:
        session.emit(name, **{**data, "step": step})

    rounds = await gather_all(
        [
            run_batch(
                session.env,
                items,
                skill,
                session.target,
                stage=stage,
                emit=progress,
                repeat=k,
                priority=priority,
                width=session.config.env.workers,
            )
            for k in range(repeats)
        ]
    )
    return [round_[n] for n in range(len(items)) for round_ in rounds]


@dataclass(frozen=True)
class GateResult:
    """A verdict with the rollouts it rests on, in file order. `measured` is None unless the evaluation was complete."""

    verdict: Verdict
    rollouts: tuple[Rollout, ...]
    measured: Measured | None


def settle(standing: Standing, gated: GateResult, *, origin: str, step: int) -> None:
    """Let a verdict change the standing: the one way in which a skill becomes current or best.

    `origin` tags what made the candidate, `step` is the last step that was taken.
    """
    verdict = gated.verdict
    standing.flips.update((*verdict.evidence.wins, *verdict.evidence.losses))
    if not verdict.accepted or gated.measured is None:
        return
    standing.current, standing.current_origin = gated.measured, origin
    best, now = standing.best.gate_score, gated.measured.gate_score
    if best is None or (now is not None and now > best):
        standing.best, standing.best_origin, standing.best_step = gated.measured, origin, step


async def gate(session: Session, candidate: Skill, standing: Standing, *, step: int | None) -> GateResult:
    """Decide whether a candidate replaces the current skill, by the strict rule."""
    evaluation = session.config.evaluation
    repeats = evaluation.repeats
    units = standing.current.units(session.selection, repeats)
    ordering = failures_first if evaluation.gate_order == "failures_first" else file_order
    order = ordering(units, standing.flips)
    early = evaluation.gate_early_stop and evaluation.use_gate
    rollouts, decision = await _stream(session, candidate, order, standing, step=step, early=early)
    verdict = decision.verdict()
    in_file_order = tuple(
        r for _, r in sorted(zip((u.index for u in order), rollouts, strict=False), key=lambda p: p[0])
    )
    complete = not verdict.evidence.early_stopped
    measured = Measured(candidate, in_file_order, session.metric) if complete else None
    if not evaluation.use_gate and measured is not None and verdict.action != "undecided":
        verdict = Verdict("force_accept", measured.gate_score, verdict.evidence, "the gate is off: kept as measured")
    return GateResult(verdict, in_file_order, measured)


async def _stream(
    session: Session, candidate: Skill, order: list[Unit], standing: Standing, *, step: int | None, early: bool
) -> tuple[list[Rollout], StrictGate]:
    repeats = session.config.evaluation.repeats
    width = session.config.env.workers
    metric = session.metric
    places = [(session.selection[u.index // repeats], u.index % repeats) for u in order]

    def fresh() -> StrictGate:
        return StrictGate(
            order,
            early=early,
            coverage_floor=session.config.evaluation.coverage_floor,
            best_score=standing.best.gate_score,
        )

    async def one(position: int, certain: bool) -> Rollout:
        item, repeat = places[position]
        priority = GATE_CERTAIN if certain else GATE_SPECULATIVE
        rollout = await run_one(session.env, item, candidate, session.target, Call("gate", repeat, priority))
        session.emit("stage.progress", stage="evaluate", step=step, done=position + 1, total=len(order))
        return rollout

    decision = fresh()
    speculation = GATE_AHEAD if session.speculate else 0
    rollouts = await drive(
        decision, len(order), one, lambda r: metric.value(r.outcome), width=width, speculation=speculation
    )
    if len(rollouts) == len(order) and any(isinstance(r.outcome, Missing) for r in rollouts):
        lost = [n for n, r in enumerate(rollouts) if isinstance(r.outcome, Missing)]
        again = await gather_all([one(n, True) for n in lost])
        for n, rollout in zip(lost, again, strict=True):
            rollouts[n] = rollout
        decision = fresh()
        for n, rollout in enumerate(rollouts):
            decision.observe(metric.value(rollout.outcome))
            if decision.settled:
                rollouts = rollouts[: n + 1]
                break
    return rollouts, decision
