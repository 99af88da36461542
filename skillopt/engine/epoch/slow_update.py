"""The slow update: at an epoch's end, guidance from the comparison of two successive skills enters its own region.

Gated by default: the text with the guidance passes the same gate as any edit and may become best. Forced: it becomes
current with the score that is measured on it at once, and best only if that score is higher. In the first epoch there
is nothing to compare, and an empty region is put in: other bytes, the same guidance.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from skillopt.core.aio import gather_all
from skillopt.core.editing.regions import region_text, with_slow_update
from skillopt.core.rollout import Rollout
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.engine.acceptance.decide import write_decision
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.epoch.comparison import Comparison
from skillopt.engine.epoch.work import EpochWork
from skillopt.engine.run.context import RunContext
from skillopt.engine.stages.build import without_leaks
from skillopt.engine.stages.vetoes import veto_records
from skillopt.engine.state import TrainState
from skillopt.envs.rollout import Call, run_one
from skillopt.optimizer.schemas.epoch import Written
from skillopt.records.schema import EpochRecord, GateRecord
from skillopt.records.vocabulary import Action, Stage

PLACEHOLDER_ORIGIN = "slow_update_placeholder_epoch_01"


def with_placeholder(skill: Skill) -> Skill:
    """The skill with an empty slow-update region; one that has a region keeps what stands in it."""
    return skill if region_text(skill, SLOW_UPDATE) is not None else with_slow_update(skill, "")


async def place(work: EpochWork, state: TrainState) -> tuple[TrainState, EpochRecord]:
    """Epoch 1: put the empty region into the current skill; best is untouched. The state and the result file."""
    skill = with_placeholder(state.current.skill)
    if skill != state.current.skill:
        current = await rebound(work.context, state.current, skill)
        state = replace(state, current=current, current_origin=PLACEHOLDER_ORIGIN)
    gate = GateRecord(action=Action.INJECT_PLACEHOLDER, candidate_hash=skill.hash)
    return state, work.result(state, replace(work.record(gate.action), gate=gate))


async def rebound(context: RunContext, measured: Measured, skill: Skill) -> Measured:
    """The measurement of a text that sends the target the same requests, made again on its own bytes.

    Every answer comes from the journal, so it costs no call; what could not be measured stays missing.
    """

    async def again(rollout: Rollout) -> Rollout:
        if rollout.scored is None:
            return replace(rollout, skill_hash=skill.hash)
        return await run_one(
            context.env, rollout.item, skill, context.target, Call(Stage.GATE, rollout.repeat, scoring=context.scoring)
        )

    rollouts = tuple(await gather_all([again(r) for r in measured.rollouts]))
    return Measured(skill, rollouts, measured.metric, context.bonus(skill))


async def guide(
    work: EpochWork, state: TrainState, done: Comparison, written: Written | None, lost: str
) -> tuple[TrainState, EpochRecord]:
    """Decide about the guidance that was written and write its views. The state and the result file. Raises
    `StopRun`."""
    context, skill = work.context, state.current.skill
    forced = not context.config.optimizer.slow_update_gate_with_selection
    guidance, vetoed = without_leaks(context, skill, written.content if written else "")
    nothing = f"the guidance was vetoed: {vetoed[0].leaks[0]}" if vetoed else "the optimizer wrote none"
    found = replace(
        work.record(Action.NO_CONTENT, lost or nothing),
        acceptance="force-accept" if forced else "gated",
        comparison=done.record(),
        update_origin="slow_update_momentum",
        update_target=guidance,
        reasoning=written.reasoning if written else "",
        vetoed=veto_records(vetoed),
    )
    decision: Decision | None = None
    candidate: Skill | None = None
    if guidance:
        candidate = with_slow_update(skill, guidance)
        decision = await work.decide(candidate, state, shown=done.shown, forced=forced)
        state = state.after(decision)
        found = replace(found, gate=decision.record())
    result = work.result(state, found)
    await asyncio.to_thread(_write, work, candidate, decision)
    return state, result


def _write(work: EpochWork, candidate: Skill | None, decision: Decision | None) -> None:
    run_dir = work.context.run_dir
    if candidate is not None:
        run_dir.write(f"{work.folder}/candidate_skill.md", candidate.text)
    if decision is not None:
        write_decision(run_dir.root / work.folder, decision)
