"""The optimizer's call: failed attempts, each with the text that was in force, and what is believed of every line.

The reply is that of an analyst of failures whose edits also name the attempts they are for, and the line that they are
a variant of or say again in other words: the optimizer sees the list, and words alone tell paraphrases badly. What an
edit does not say is taken as said of all attempts shown. A reply that cannot be read is lost, and counted, like any
analyst's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, hidden_reference
from skillopt.model.replies import ask_json
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.factorial.pool import Proposal
from skillopt.optimizer.modes import PATCH
from skillopt.optimizer.reflect import Group, target_prompt
from skillopt.optimizer.schemas.edits import FAILURE_REPLY, AnalystReply, read_analyst
from skillopt.optimizer.trajectory import Task, estimated_tokens, render_group
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True)
class Shown:
    """What one call sees."""

    number: int
    skill: Skill
    """Believed best."""
    failures: tuple[Rollout, ...]
    differences: str
    """Which lines were in force besides, or missing, in which attempt; blank when all had the skill itself."""
    believed: str
    """The lines under test with their effects, as `describe` writes them."""


def schema() -> dict[str, JsonValue]:
    """The reply's schema: that of an analyst of failures, with three more fields an edit."""
    body = as_object(FAILURE_REPLY["properties"])
    patch = as_object(body["patch"])
    edits = as_object(as_object(patch["properties"])["edits"])
    edit = as_object(edits["items"])
    more: dict[str, JsonValue] = {
        **as_object(edit["properties"]),
        "attempts": {"type": "array", "items": {"type": "integer"}},
        "variant_of": {"type": ["integer", "null"]},
        "same_as": {"type": ["integer", "null"]},
    }
    edit = {**edit, "properties": more, "required": list(more)}
    patch = {**patch, "properties": {**as_object(patch["properties"]), "edits": {**edits, "items": edit}}}
    return {**FAILURE_REPLY, "properties": {**body, "patch": patch}}


async def ask(shown: Shown, env: Env, ctx: StageContext, *, lines: int) -> tuple[Group, list[Proposal]]:
    """One call. Returns it as a group of the step's views, and the proposals; `lines` is how many factors there are.

    Raises `StopRun`; a call that failed otherwise raises `ModelError`.
    """
    settings, ids = ctx.settings, tuple(r.item.id for r in shown.failures)
    system = ctx.prompts.render("analyst_factorial_system", budget=settings.learning_rate, aware=False, notes=False)
    fixed = (system, shown.skill.text, shown.believed, shown.differences)
    spent = sum(map(estimated_tokens, fixed)) + 400
    tasks = [Task(env.task_text(r.item), hidden_reference(env, r.item)) for r in shown.failures]
    user = ctx.prompts.render(
        "analyst_factorial_user",
        skill=shown.skill.text.strip(),
        limit=PATCH.limit(settings.learning_rate),
        target_prompt=target_prompt(env, shown.failures),
        believed=shown.believed,
        differences=shown.differences,
        trajectories=render_group(shown.failures, tasks, token_budget=max(1000, settings.prompt_token_budget - spent)),
    )
    raw_edits: list[JsonObject] = []

    def read(raw: JsonValue) -> AnalystReply:
        reply = read_analyst(raw, source_type="failure", group_size=len(ids))
        raw_edits[:] = _raw_edits(raw)
        return reply

    request = ctx.request(system, user, stage=Stage.ANALYST)
    asked = await ask_json(ctx.model, replace(request, schema=schema(), schema_name="analyst_failure"), read)
    for usage in asked.usages:
        ctx.tally.add("analyst", usage)
    ctx.tally.reasks += asked.reasks
    if asked.value is None:
        ctx.tally.dropped += 1
        return Group("failure", shown.number, ids, None, asked.dropped), []
    patch = asked.value.patch
    edits = patch.edits[: settings.learning_rate] if isinstance(patch, Patch) else ()
    proposals = [_proposal(edit, raw, ids, lines) for edit, raw in zip(edits, raw_edits, strict=False)]
    return Group("failure", shown.number, ids, replace(asked.value, patch=replace(patch, edits=edits))), proposals


def _raw_edits(raw: JsonValue) -> list[JsonObject]:
    body = raw if isinstance(raw, list) else as_object(as_object(raw).get("patch", raw)).get("edits")
    return [as_object(edit) for edit in as_array(body)]


def _proposal(edit: Edit, raw: Mapping[str, JsonValue], ids: Sequence[str], lines: int) -> Proposal:
    """The edit with what the reply says beside it; numbers that name nothing are left out."""
    numbers = [n for n in as_array(raw.get("attempts")) if isinstance(n, int) and 1 <= n <= len(ids)]
    return Proposal(
        edit,
        shown=tuple(ids),
        addressed=tuple(dict.fromkeys(ids[n - 1] for n in numbers)) or tuple(ids),
        variant_of=_line(raw.get("variant_of"), lines),
        same_as=_line(raw.get("same_as"), lines),
    )


def _line(of: JsonValue, lines: int) -> int | None:
    """The factor that a number of the list names; None where it names none."""
    known = isinstance(of, int) and not isinstance(of, bool) and 1 <= of <= lines
    return of - 1 if known and isinstance(of, int) else None
