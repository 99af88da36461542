"""One rollout: the agent's attempt or the episode, then the score.

A lost attempt is `Missing` with the provider's words, and so is one whose judge gave no verdict, or whose item lost a
file on the way; what must end the run (`StopRun`, `ReplayMiss`, a fault of data or scorer) passes through. An answer
that was cut off scores 0.0, because the model answered and the answer does not fit what the configuration allows. A
refusal is an answer and is scored. Whatever is not an agent is a chat model.
The target reads the skill without its empty regions, so that a placeholder changes no request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

from skillopt.agents.base import Agent, Attempt, Task, TokenSums
from skillopt.agents.chat import ChatAgent
from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.errors import ConfigError, ItemFault
from skillopt.core.item import Item
from skillopt.core.offers import offers
from skillopt.core.outcome import Missing, Outcome, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, ListsSkills, given_files, reads_workspace
from skillopt.envs.episodes.loop import play
from skillopt.envs.episodes.protocol import Episodic, takes_agents
from skillopt.envs.episodes.tools import play_with_tools, tools_of
from skillopt.envs.lookups import next_turn
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.scoring import UNAIDED, ScoreContext, Scoring, score_attempt
from skillopt.model.types import ChatModel
from skillopt.records.vocabulary import Stage


class Watch(Protocol):
    """Hears of rollouts as they begin and end."""

    def begun(self) -> str:
        """The name that the calls of the rollout will carry."""
        ...

    def ended(self, name: str, rollout: Rollout | None, seconds: float) -> None:
        """What came of it; None when a stop or an error ended it."""
        ...


@dataclass(frozen=True)
class Call:
    """What all rollouts of a batch share. `stage` and `priority` govern the call, `repeat` is part of its identity."""

    stage: Stage
    repeat: int = 0
    priority: int = 0
    scoring: Scoring = UNAIDED
    watch: Watch | None = None


async def run_one(env: Env, item: Item, skill: Skill, target: ChatModel | Agent, call: Call) -> Rollout:
    """Attempt one item. Raises `StopRun`, `ReplayMiss` and `DataError`; every other fault of a call is `Missing`."""
    if call.watch is None:
        return await _rolled_out(env, item, skill, target, call)
    name, began = call.watch.begun(), time.monotonic()
    try:
        rollout = await _rolled_out(env, item, skill, target, call, name)
    except BaseException:
        call.watch.ended(name, None, time.monotonic() - began)
        raise
    call.watch.ended(name, rollout, time.monotonic() - began)
    return rollout


async def _rolled_out(
    env: Env, item: Item, skill: Skill, target: ChatModel | Agent, call: Call, name: str = ""
) -> Rollout:
    read = Skill(without_empty_regions(skill.text))
    task = Task(
        item=item,
        skill=read,
        messages=lambda text: env.messages(item, text),
        next_turn=lambda turns: next_turn(env, item, turns, call.scoring.journal, call.stage),
        sampling=env.sampling,
        stage=call.stage,
        repeat=call.repeat,
        priority=call.priority,
        files=reads_workspace(env),
        given=lambda: given_files(env, item),
        rollout=name,
        listed=env.listed(item, read) if offers(env, ListsSkills) else None,
    )
    try:
        attempt = await _attempt(env, task, target, call.scoring)
    except ItemFault as fault:
        attempt = Attempt(lost=str(fault))
    rollout = Rollout(
        item=item,
        skill_hash=skill.hash,
        outcome=Pending(),
        repeat=call.repeat,
        trajectory=attempt.trajectory,
        tokens=attempt.tokens,
        system_prompt=attempt.system_prompt,
        user_prompt=attempt.user_prompt,
        agent=attempt.notes,
    )
    if attempt.lost:
        return replace(rollout, outcome=Missing(attempt.lost, attempt.too_long))
    ctx = ScoreContext(rollout, call.stage, call.priority, scoring=call.scoring, told_as=name)
    outcome = await _outcome(env, item, attempt, ctx)
    if ctx.judged.calls:
        rollout = replace(rollout, tokens={**rollout.tokens, **_of_judge(ctx.judged)})
    if not isinstance(outcome, Scored):
        return replace(rollout, outcome=outcome)
    block = {"role": "system", "content": evaluation(outcome, env.golds(item))}
    return replace(rollout, outcome=outcome, trajectory=(*rollout.trajectory, block))


async def _attempt(env: Env, task: Task, target: ChatModel | Agent, scoring: Scoring) -> Attempt:
    if offers(target, Agent) and not takes_agents(env):
        raise no_agent(env)
    if offers(env, Episodic) and not offers(target, Agent):
        tools = tools_of(env, task.item)
        if tools:
            return await play_with_tools(env, task, target, scoring, tools)
        return await play(env, task, target, scoring)
    agent = target if offers(target, Agent) else ChatAgent(target)
    return await agent.attempt(task)


def no_agent(env: Env) -> ConfigError:
    """An episode is played turn by turn, and an agent solves a task in one go."""
    return ConfigError(
        f"environment {env.name!r} plays episodes: its target is a chat model, not an agent",
        hint="choose a chat backend for the target, and model.target_agent=chat",
    )


def _of_judge(sums: TokenSums) -> dict[str, int | None]:
    return {f"judge_{name}": value for name, value in sums.to_json().items()}


async def _outcome(env: Env, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
    if attempt.cut:
        return Scored(0.0, 0.0, fail_reason=attempt.cut)
    return await score_attempt(env, item, attempt, ctx)


def evaluation(scored: Scored, golds: tuple[str, ...]) -> str:
    """The evaluation block that ends a conversation; holds the gold values."""
    lines = [f"Evaluation: hard {scored.hard:g}, soft {round(scored.soft, 4):g}"]
    if scored.fail_reason:
        lines.append(f"Reason: {scored.fail_reason}")
    if scored.detail.get(FEEDBACK):
        lines.append(f"Feedback: {scored.detail[FEEDBACK]}")
    lines += [f"Predicted: {scored.predicted}", f"Gold: {' | '.join(golds)}"]
    return "\n".join(lines)
