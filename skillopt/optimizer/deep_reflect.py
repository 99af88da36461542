"""Deep reflection: what the target was deciding on, read out of a few attempts that are made once more.

Representative items of a batch are chosen, one optimizer call designs a short read-out question, the engine runs the
items again with the same skill and that question, and reflection looks at the new attempts. Optional throughout:
whatever fails here costs the extra patches and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import numbered, shuffled
from skillopt.envs.base import Env, hidden_reference
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.reflect import partition
from skillopt.optimizer.trajectory import Task, estimated_tokens, render_group
from skillopt.records.vocabulary import Stage

PROBE_TOKENS = 1_024
PROBE_ATTEMPTS = 3
MOST_WORDS = 200
"""A read-out longer than this changes how the task is solved instead of looking at it."""
PROBE_REPLY: JsonObject = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "probe_instruction": {"type": "string"}},
    "required": ["reasoning", "probe_instruction"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Probe:
    """The question that is put to the target beside its task."""

    instruction: str
    reasoning: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The reply as it is kept in `probe.json`."""
        return {"reasoning": self.reasoning, "probe_instruction": self.instruction}


def choose(
    rollouts: Sequence[Rollout], pass_threshold: float, *, failures: int, successes: int, seed: int
) -> list[Rollout]:
    """Up to so many failed and passed attempts, different task types first. Both shuffles are `Random(seed)`'s."""
    failed, passed = partition(rollouts, pass_threshold)
    return [*_varied(failed, failures, seed), *_varied(passed, successes, seed)]


def _varied(rollouts: Sequence[Rollout], quota: int, seed: int) -> list[Rollout]:
    order = shuffled(rollouts, numbered(seed))
    first: dict[str, Rollout] = {}
    for rollout in order:
        first.setdefault(rollout.item.task_type, rollout)
    chosen = list(first.values())[:quota]
    taken = {r.item.id for r in chosen}
    rest = [r for r in order if r.item.id not in taken]
    return [*chosen, *rest[: quota - len(chosen)]]


async def design(
    chosen: Sequence[Rollout], skill: Skill, env: Env, ctx: StageContext, *, buffer_text: str
) -> tuple[Probe | None, str]:
    """One optimizer call for the question, or None and why there is none. Raises `StopRun`."""
    system = ctx.prompts.render("deep_probe_system")
    fixed = (system, skill.text, buffer_text, ctx.meta_skill)
    room = ctx.settings.prompt_token_budget - sum(map(estimated_tokens, fixed)) - 400
    tasks = [Task(env.task_text(r.item), hidden_reference(env, r.item)) for r in chosen]
    user = ctx.prompts.render(
        "deep_probe_user",
        skill=skill.text.strip(),
        previous=buffer_text,
        meta_skill=ctx.meta_skill,
        trajectories=render_group(chosen, tasks, token_budget=max(1000, room)),
    )
    request = ctx.request(system, user, stage=Stage.DEEP_PROBE, cap=PROBE_TOKENS)
    request = replace(request, attempts=PROBE_ATTEMPTS, schema=PROBE_REPLY, schema_name="deep_probe")
    return await ask_optional(ctx, request, read_probe)


def read_probe(raw: object) -> Probe:
    """`{reasoning, probe_instruction}`; what a target with tools would need besides is ignored. Raises `ReplyError`."""
    if not isinstance(raw, Mapping):
        raise ReplyError(f"the reply must be one JSON object, got {type(raw).__name__}")
    reply = cast("JsonObject", raw)
    instruction, reasoning = reply.get("probe_instruction"), reply.get("reasoning")
    if not isinstance(instruction, str) or not instruction.strip():
        raise ReplyError('"probe_instruction" must be a short text')
    if any("\ud800" <= char <= "\udfff" for char in instruction):
        raise ReplyError('"probe_instruction" holds half a character')
    if len(instruction.split()) > MOST_WORDS:
        raise ReplyError(f'"probe_instruction" has more than {MOST_WORDS} words; ask for one thing')
    return Probe(instruction.strip(), reasoning if isinstance(reasoning, str) else "")
