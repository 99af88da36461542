"""The slow update: at an epoch's end, guidance from the comparison of two successive skills enters its own region.

Gated by default: the text with the guidance passes the same gate as any edit and may become best. Forced: it becomes
current with the score that is measured on it at once, and best only if that score is higher. In the first epoch there
is nothing to compare, and an empty region is put in: other bytes, the same guidance.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from skillopt.core.aio import gather_all
from skillopt.core.regions import region_text, with_slow_update
from skillopt.core.rollout import Rollout
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.engine.acceptance.proposal_gate import EpochWork, decide, verdict_fields, write_gate
from skillopt.engine.build import without_leaks
from skillopt.engine.epoch.comparison import Comparison
from skillopt.engine.run.context import Session
from skillopt.engine.state import GateResult, Measured, Standing
from skillopt.envs.rollout import Call, run_one
from skillopt.optimizer.schemas.epoch import Written

NAME = "slow_update"
PLACEHOLDER_ORIGIN = "slow_update_placeholder_epoch_01"


def with_placeholder(skill: Skill) -> Skill:
    """The skill with an empty slow-update region; one that has a region keeps what stands in it."""
    return skill if region_text(skill, SLOW_UPDATE) is not None else with_slow_update(skill, "")


async def place(session: Session, standing: Standing, work: EpochWork) -> dict[str, Any]:
    """Epoch 1: put the empty region into the current skill; best is untouched. Returns the result file."""
    skill = with_placeholder(standing.current.skill)
    if skill != standing.current.skill:
        standing.current = await rebound(session, standing.current, skill)
        standing.current_origin = PLACEHOLDER_ORIGIN
    return work.result(session, standing, {"action": "inject_placeholder", "candidate_hash": skill.hash})


async def rebound(session: Session, measured: Measured, skill: Skill) -> Measured:
    """The measurement of a text that sends the target the same requests, made again on its own bytes.

    Every answer comes from the journal, so it costs no call; what could not be measured stays missing.
    """

    async def again(rollout: Rollout) -> Rollout:
        if rollout.scored is None:
            return replace(rollout, skill_hash=skill.hash)
        return await run_one(session.env, rollout.item, skill, session.target, Call("gate", rollout.repeat))

    rollouts = tuple(await gather_all([again(r) for r in measured.rollouts]))
    return Measured(skill, rollouts, measured.metric, session.bonus(skill))


async def update(
    session: Session, standing: Standing, work: EpochWork, done: Comparison, written: Written | None, lost: str
) -> dict[str, Any]:
    """Decide about the guidance that was written, write its views, return the result file. Raises `StopRun`."""
    skill = standing.current.skill
    forced = not session.config.optimizer.slow_update_gate_with_selection
    guidance, leaked = without_leaks(session, skill, written.content if written else "")
    body: dict[str, Any] = {
        "action": "no_content",
        "reason": lost,
        "acceptance": "force-accept" if forced else "gated",
        **done.to_json(),
        "update_origin": "slow_update_momentum",
        "update_target": guidance,
        "reasoning": written.reasoning if written else "",
        "leaked": [leak.to_json() for leak in leaked],
    }
    gated: GateResult | None = None
    candidate: Skill | None = None
    if guidance:
        candidate = with_slow_update(skill, guidance)
        gated = await decide(session, standing, candidate, work, shown=done.shown, forced=forced)
        body |= verdict_fields(gated, candidate)
    elif not lost:
        body["reason"] = f"the guidance was vetoed: {leaked[0].leaks[0]}" if leaked else "the optimizer wrote none"
    result = work.result(session, standing, body)
    await asyncio.to_thread(_write, session, work, candidate, gated)
    return result


def _write(session: Session, work: EpochWork, candidate: Skill | None, gated: GateResult | None) -> None:
    if candidate is not None:
        session.run_dir.write(f"{work.folder}/candidate_skill.md", candidate.text)
    if gated is not None:
        write_gate(session, work, gated)
