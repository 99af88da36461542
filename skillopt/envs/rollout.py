"""One rollout: messages, the model's turns, the score.

A lost call (`ModelError`) is `Missing` with the provider's words; what must end the run (`StopRun`, `ReplayMiss`, a
fault of data or scorer) passes through. A reply that was cut off by the token limit is not adopted: it scores 0.0,
because the model answered and the answer does not fit what the configuration allows. A refusal is an answer and is
scored. The target reads the skill without its empty regions, so that a placeholder changes no request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.errors import DataError, ModelError, SkillOptError, StopRun
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome, Scored, checked
from skillopt.core.regions import without_empty_regions
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, Turn
from skillopt.model.types import ChatModel, ChatRequest, Message, Usage


@dataclass(frozen=True)
class Call:
    """What all rollouts of a batch share. `stage` and `priority` govern the call, `repeat` is part of its identity."""

    stage: str
    repeat: int = 0
    priority: int = 0


@dataclass
class _Tokens:
    """Sums over the calls of one rollout; None until a provider reported something."""

    calls: int = 0
    sums: dict[str, int | None] = field(
        default_factory=lambda: dict[str, "int | None"](prompt_tokens=None, completion_tokens=None, cached_tokens=None)
    )

    def add(self, usage: Usage) -> None:
        self.calls += 1
        for name, value in (
            ("prompt_tokens", usage.prompt_tokens),
            ("completion_tokens", usage.completion_tokens),
            ("cached_tokens", usage.cached_tokens),
        ):
            if value is not None:
                self.sums[name] = (self.sums[name] or 0) + value

    def to_json(self) -> dict[str, int | None]:
        return {"calls": self.calls, **self.sums}


async def run_one(env: Env, item: Item, skill: Skill, target: ChatModel, call: Call) -> Rollout:
    """Attempt one item. Raises `StopRun`, `ReplayMiss` and `DataError`; every other fault of a call is `Missing`."""
    first = env.messages(item, without_empty_regions(skill.text))
    messages = list(first)
    turns: list[Turn] = []
    trajectory: list[Mapping[str, Any]] = []
    tokens = _Tokens()
    sampling = env.sampling
    outcome: Outcome | None = None
    while outcome is None:
        request = ChatRequest(
            messages=tuple(messages),
            stage=call.stage,
            max_completion_tokens=sampling.max_completion_tokens,
            temperature=sampling.temperature,
            repeat=call.repeat,
            priority=call.priority,
            deadline_s=sampling.deadline_s,
        )
        try:
            reply = await target.chat(request)
        except StopRun:
            raise
        except ModelError as error:
            outcome = Missing(str(error))
            break
        tokens.add(reply.usage)
        turns.append(Turn(text_of(messages[-1]), reply.text))
        trajectory.append({"type": "message", "turn": len(turns), "content": reply.text})
        if reply.finish == "length":
            outcome = _truncated(sampling.max_completion_tokens)
            break
        following = env.next_turn(item, turns)
        if following is None:
            outcome = _score(env, item, reply.text)
            break
        trajectory.append({"role": "user", "content": following})
        messages += [Message("assistant", reply.text), Message("user", following)]
    if isinstance(outcome, Scored):
        trajectory.append({"role": "system", "content": evaluation(outcome, env.golds(item))})
    return Rollout(
        item=item,
        skill_hash=skill.hash,
        outcome=outcome,
        repeat=call.repeat,
        trajectory=tuple(trajectory),
        tokens=tokens.to_json(),
        system_prompt=next((text_of(m) for m in first if m.role == "system"), ""),
        user_prompt=next((text_of(m) for m in reversed(first) if m.role == "user"), ""),
    )


def text_of(message: Message) -> str:
    """The text of a message; parts that are not text are named by their type."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(p["text"]) if p.get("type") == "text" else f"[{p.get('type')}]" for p in message.content)


def evaluation(scored: Scored, golds: tuple[str, ...]) -> str:
    """The evaluation block that ends a conversation; holds the gold values."""
    lines = [f"Evaluation: hard {scored.hard:g}, soft {round(scored.soft, 4):g}"]
    if scored.fail_reason:
        lines.append(f"Reason: {scored.fail_reason}")
    lines += [f"Predicted: {scored.predicted}", f"Gold: {' | '.join(golds)}"]
    return "\n".join(lines)


def _truncated(cap: int) -> Scored:
    return Scored(0.0, 0.0, fail_reason=f"truncated-output: reached max_completion_tokens={cap}")


def _score(env: Env, item: Item, text: str) -> Scored:
    """Score, with the boundary check. A crash of the scorer is a fault of the set-up, never a zero."""
    try:
        return checked(item.id, env.score(item, text))
    except SkillOptError:
        raise
    except Exception as error:
        raise DataError(
            f"item {item.id!r}: the scorer of {env.name!r} raised {type(error).__name__}: {error}",
            hint="correct the scorer; a crash is not a score",
        ) from error
