"""Queries that test a description: ones that should find the skill, and near misses that should not.

One call. What comes back is a proposal for a person to review: only they know which requests the skill is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue, as_object
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.epoch import reply_object
from skillopt.records.vocabulary import Stage

_ROW: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "should_trigger": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["query", "should_trigger", "why"],
    "additionalProperties": False,
}
REPLY: JsonObject = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": _ROW}},
    "required": ["queries"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ProposedQuery:
    """One proposal; `why` says why it should trigger, or what it is near to."""

    query: str
    should_trigger: bool
    why: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """A row of a query file; as long as it says `reviewed: false` nothing is measured on it."""
        return {"query": self.query, "should_trigger": self.should_trigger, "why": self.why, "reviewed": False}


async def near_misses(
    skill: Mapping[str, str], rivals: Mapping[str, str], queries: Sequence[str], count: int, ctx: StageContext
) -> tuple[list[ProposedQuery], str]:
    """At most `count` proposals, and why there are none. `skill` and `rivals` are descriptions by name. Raises
    `StopRun`."""
    system = ctx.prompts.render("near_misses_system", count=count)
    said = "\n".join(queries) or "(none)"
    user = ctx.prompts.render("near_misses_user", skill=_lines(skill), rivals=_lines(rivals), queries=said)
    request = replace(ctx.request(system, user, stage=Stage.QUERIES), schema=REPLY, schema_name="near_misses")
    found, lost = await ask_optional(ctx, request, read_queries)
    known, fresh = {_key(query) for query in queries}, list[ProposedQuery]()
    for proposal in found or ():
        if _key(proposal.query) not in known:
            known.add(_key(proposal.query))
            fresh.append(proposal)
    return fresh[:count], lost


def read_queries(raw: object) -> list[ProposedQuery]:
    """The reply's rows. Raises `ReplyError`."""
    rows = reply_object(raw).get("queries")
    if not isinstance(rows, list):
        raise ReplyError('the reply has no list "queries"')
    found: list[ProposedQuery] = []
    for row in rows:
        values = as_object(cast("object", row)) if isinstance(row, Mapping) else {}
        query, should, why = values.get("query"), values.get("should_trigger"), values.get("why")
        if not isinstance(query, str) or not query.strip() or not isinstance(should, bool):
            raise ReplyError('each query needs "query" (text) and "should_trigger" (true or false)')
        found.append(ProposedQuery(query.strip(), should, why if isinstance(why, str) else ""))
    return found


def _lines(described: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {description}" for name, description in described.items())


def _key(query: str) -> str:
    return " ".join(query.casefold().split())
