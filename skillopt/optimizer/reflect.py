"""Stage 2: minibatches of failures and of successes become patches, one optimizer call a group.

Partition and order are those of pipeline §5 (failures shuffled with the batch seed, successes with the seed plus
one). A lost or unreadable reply costs its own group and is counted; when no group at all could be asked, the cause is
raised, because failures without one reflection are a fault and not an empty step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from skillopt.core.aio import gather_all
from skillopt.core.editing.change import Change, with_items
from skillopt.core.errors import ItemFault, ModelError, StopRun
from skillopt.core.json_types import JsonValue
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import numbered, shuffled
from skillopt.envs.base import Env, hidden_reference
from skillopt.model.replies import ask_json
from skillopt.optimizer.answer_facts import observations
from skillopt.optimizer.appendix import read_aware, with_notes
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.schemas.edits import COMPACT_REPLY, AnalystReply, read_compact
from skillopt.optimizer.trajectory import Task, contrast, estimated_tokens, render_group
from skillopt.records.events import ReflectGroup
from skillopt.records.vocabulary import Stage

T = TypeVar("T")

COMPACT_CASES = 8
"""Wrong cases shown in the compact profile; more only blur the picture for a small model."""

ANGLES = (
    "Which rule would make most of the wrong answers right? Give the JSON object.",
    "What do the wrong answers contain that the expected ones do not? Give the rule that removes it, as JSON object.",
    "What do the wrong answers lack that the expected ones have? Give the rule that adds it, as the JSON object.",
    "How is the expected answer made from the input, step by step? Give the most important step as a rule, in the JSON "
    "object.",
    "How do the expected answers begin and end, and which characters stand between? Give the rule, as the JSON object.",
)
FACT_ANGLE = "Fact: {fact} Which instruction, not given yet, makes the answers agree with it? Give the JSON object."
"""Samples of the compact profile ask different questions: a general one, one a fact, then the other angles."""
COMPACT_FACTS = 5


@dataclass(frozen=True)
class Group:
    """One minibatch and what its analyst said. `reply` is None when it was lost (`lost` says why)."""

    kind: str
    number: int
    item_ids: tuple[str, ...]
    reply: AnalystReply | None
    lost: str = ""

    @property
    def file_name(self) -> str:
        """`minibatch_fail_000.json` and so on."""
        return f"minibatch_{'fail' if self.kind == 'failure' else 'succ'}_{self.number:03d}.json"

    def to_json(self) -> dict[str, JsonValue]:
        """The published file of a minibatch."""
        body: dict[str, JsonValue] = {"batch_size": len(self.item_ids), "item_ids": list(self.item_ids)}
        if self.reply is None:
            return {**body, "dropped": self.lost}
        if self.kind == "failure":
            body["failure_summary"] = [dict(s) for s in self.reply.summary]
        else:
            body["success_patterns"] = list(self.reply.patterns)
        body["patch"] = self.reply.patch.to_json()
        if self.reply.labels:
            body["labels"] = list(self.reply.labels)
        if self.reply.notes:
            body["appendix_notes"] = list(self.reply.notes)
        return body


@dataclass(frozen=True)
class Reflection:
    """All groups of one batch, failures first, in group order."""

    groups: tuple[Group, ...] = ()
    deep: tuple[Group, ...] = ()
    """Groups of the diagnostic attempts (`optimizer.deep_reflect`), if there were any."""

    def patches(self, kind: str) -> list[Change]:
        """The patches with at least one item, of one kind (`failure` or `success`)."""
        groups = (*self.groups, *self.deep)
        return [g.reply.patch for g in groups if g.kind == kind and g.reply is not None and g.reply.patch.items]

    @property
    def notes(self) -> tuple[str, ...]:
        """The reminders of all replies, those of replies without a patch included."""
        return tuple(n for g in (*self.groups, *self.deep) if g.reply is not None for n in g.reply.notes)


def partition(rollouts: Sequence[Rollout], pass_threshold: float) -> tuple[list[Rollout], list[Rollout]]:
    """Measured rollouts as (failures, successes), in batch order. Missing ones are in neither."""
    failures = [r for r in rollouts if r.scored is not None and r.scored.hard < pass_threshold]
    successes = [r for r in rollouts if r.scored is not None and r.scored.hard >= pass_threshold]
    return failures, successes


def groups_of(rollouts: Sequence[T], size: int, seed: int) -> list[list[T]]:
    """Shuffle with `Random(seed)` and cut into groups of `size`; the last may be short."""
    order = shuffled(rollouts, numbered(seed))
    return [order[at : at + size] for at in range(0, len(order), size)]


def number_of_groups(rollouts: Sequence[Rollout], env: Env, ctx: StageContext) -> int:
    """How many analysts `reflect` asks about a batch."""
    size = ctx.settings.minibatch_size
    failures, successes = partition(rollouts, env.pass_threshold)
    both = not ctx.settings.failure_only and ctx.settings.profile == "full"
    return sum(-(-len(part) // size) for part in (failures, successes if both else []))


async def reflect(
    rollouts: Sequence[Rollout],
    skill: Skill,
    env: Env,
    ctx: StageContext,
    *,
    batch_seed: int,
    buffer_text: str,
    repeat: int = 0,
    readout: str = "",
    required: bool = True,
) -> Reflection:
    """Ask one analyst a group. `repeat` > 0 is another independent sample of the same prompts.

    `readout` is what these attempts were asked besides their task. Raises `StopRun` when there are failures and no call
    succeeded, unless the reflection is not `required`.
    """
    size = ctx.settings.minibatch_size
    failures, successes = partition(rollouts, env.pass_threshold)
    jobs = [("failure", n, g) for n, g in enumerate(groups_of(failures, size, batch_seed))]
    if not ctx.settings.failure_only and ctx.settings.profile == "full":
        jobs += [("success", n, g) for n, g in enumerate(groups_of(successes, size, batch_seed + 1))]
    places = asyncio.Semaphore(ctx.settings.analyst_workers)

    async def one(kind: str, number: int, group: list[Rollout]) -> Group:
        async with places:
            shown = Shown(skill, buffer_text, tuple(group), tuple(successes[:3]), readout)
            ids = tuple(r.item.id for r in group)
            try:
                reply, lost = await _ask(kind, shown, env, ctx, repeat)
            except StopRun:
                raise
            except ModelError as error:
                ctx.tally.dropped += 1
                reply, lost = None, f"call failed: {error}"
            ctx.emit(ReflectGroup(kind=kind, number=number, size=len(group), dropped=lost))
            return Group(kind, number, ids, reply, lost)

    done = await gather_all([one(*job) for job in jobs])
    asked = [g for g in done if not g.lost.startswith("call failed")]
    if failures and not asked and required:
        raise StopRun(f"no analyst call of this step succeeded; the first said: {done[0].lost}")
    return Reflection(tuple(done))


def target_prompt(env: Env, rollouts: Sequence[Rollout]) -> str:
    """The target's system message without the skill, so that the skill stands in the prompt exactly once. That of the
    first item whose files are all there."""
    for rollout in rollouts:
        with suppress(ItemFault):
            first = env.messages(rollout.item, "")[0]
            return first.content if first.role == "system" and isinstance(first.content, str) else ""
    return ""


@dataclass(frozen=True)
class Shown:
    """What one analyst sees."""

    skill: Skill
    buffer_text: str
    group: tuple[Rollout, ...]
    right: tuple[Rollout, ...]
    readout: str = ""


def _full_prompts(kind: str, shown: Shown, env: Env, ctx: StageContext) -> tuple[str, str]:
    """Instructions as the system message; skill, history and trajectories as the user's, cut to the token budget."""
    s = ctx.settings
    name = f"analyst_{'error' if kind == 'failure' else 'success'}{ctx.mode.suffix}_system"
    system = ctx.prompts.render(name, budget=s.learning_rate, aware=ctx.aware, notes=kind in ctx.reminders)
    fixed = (system, shown.skill.text, shown.buffer_text, ctx.meta_skill, shown.readout)
    spent = sum(map(estimated_tokens, fixed)) + 400
    tasks = [Task(env.task_text(r.item), hidden_reference(env, r.item)) for r in shown.group]
    user = ctx.prompts.render(
        "analyst_user",
        skill=shown.skill.text.strip(),
        limit=ctx.mode.limit(s.learning_rate),
        target_prompt=target_prompt(env, shown.group),
        previous=shown.buffer_text,
        meta_skill=ctx.meta_skill,
        kind=kind,
        readout=shown.readout,
        trajectories=render_group(shown.group, tasks, token_budget=max(1000, s.prompt_token_budget - spent)),
    )
    return system, user


def _compact_prompts(shown: Shown, env: Env, ctx: StageContext, repeat: int) -> tuple[str, str]:
    """All that the samples share as the system message, so that it is read once; only the question differs."""
    wrong = shown.group[:COMPACT_CASES]
    cases = [
        (env.task_text(r.item), r.scored.predicted, gold)
        for r in shown.group
        for gold in env.golds(r.item)[:1]
        if r.scored is not None
    ]
    facts = observations(cases)[:COMPACT_FACTS]
    questions = [ANGLES[0], *(FACT_ANGLE.format(fact=fact) for fact in facts), *ANGLES[1:]]
    system = ctx.prompts.render(
        "analyst_compact_system",
        skill=shown.skill.text.strip(),
        budget=ctx.settings.learning_rate,
        previous=shown.buffer_text,
        meta_skill=ctx.meta_skill,
        wrong=[contrast(r, env.task_text(r.item), env.golds(r.item)) for r in wrong],
        right=[contrast(r, env.task_text(r.item), env.golds(r.item)) for r in shown.right],
        facts=facts,
        protected=bool(shown.skill.protected),
    )
    return system, ctx.prompts.render("analyst_compact_user", angle=questions[repeat % len(questions)])


async def _ask(kind: str, shown: Shown, env: Env, ctx: StageContext, repeat: int) -> tuple[AnalystReply | None, str]:
    budget, size = ctx.settings.learning_rate, len(shown.group)
    compact = ctx.settings.profile == "compact"
    if compact:
        schema, (system, user) = COMPACT_REPLY, _compact_prompts(shown, env, ctx, repeat)
    else:
        schema = ctx.mode.analyst_schema(kind)
        if ctx.aware:
            schema = with_notes(schema, kind, notes=kind in ctx.reminders)
        system, user = _full_prompts(kind, shown, env, ctx)

    def read(raw: object) -> AnalystReply:
        if compact:
            return read_compact(raw, source_type=kind, group_size=size, budget=budget)
        reply = _read(raw, kind, size, ctx)
        if not ctx.mode.budgeted:
            return reply
        return replace(reply, patch=with_items(reply.patch, reply.patch.items[:budget]))

    request = ctx.request(system, user, stage=Stage.ANALYST, repeat=repeat, cap=ctx.item_cap)
    asked = await ask_json(ctx.model, replace(request, schema=schema, schema_name=f"analyst_{kind}"), read)
    for usage in asked.usages:
        ctx.tally.add("analyst", usage)
    ctx.tally.reasks += asked.reasks
    if asked.value is None:
        ctx.tally.dropped += 1
    return asked.value, asked.dropped


def _read(raw: object, kind: str, size: int, ctx: StageContext) -> AnalystReply:
    """A reply of the full profile, with what skill-aware reflection adds to it."""

    def plain(raw: object) -> AnalystReply:
        return ctx.mode.read_analyst(raw, source_type=kind, group_size=size)

    if not ctx.aware:
        return plain(raw)
    return read_aware(raw, plain, AnalystReply(ctx.mode.empty), notes=kind in ctx.reminders)
