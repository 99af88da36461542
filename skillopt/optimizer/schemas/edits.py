"""The shapes that optimizer replies must have: a JSON schema for backends that enforce one, a reader for all.

A reader raises `ReplyError` with a sentence the model can act on; `model.replies.ask_json` shows it in the one re-ask.
Inside a reply only the broken edit is invalid, the rest is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from skillopt.core.editing.change import Change, with_items
from skillopt.core.editing.edit import OPS, Edit, Patch
from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue

_TEXT = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}


def _object(properties: JsonObject) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_EDIT = _object({"op": {"type": "string", "enum": list(OPS)}, "target": _NULLABLE, "content": _NULLABLE})
_EDITS = {"type": "array", "items": _EDIT}
_PATCH = _object({"reasoning": _TEXT, "edits": _EDITS})
FAILURE_REPLY = _object(
    {
        "batch_size": {"type": "integer"},
        "failure_summary": {
            "type": "array",
            "items": _object({"failure_type": _TEXT, "count": {"type": "integer"}, "description": _TEXT}),
        },
        "patch": _PATCH,
    }
)
SUCCESS_REPLY = _object(
    {
        "batch_size": {"type": "integer"},
        "success_patterns": {"type": "array", "items": _TEXT},
        "patch": _PATCH,
    }
)
COMPACT_REPLY = _object({"cause": _TEXT, "rules": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 6}})
MERGE_REPLY = _object(
    {
        "reasoning": _TEXT,
        "edits": {
            "type": "array",
            "items": _object(
                {
                    "op": {"type": "string", "enum": list(OPS)},
                    "target": _NULLABLE,
                    "content": _NULLABLE,
                    "support_count": {"type": "integer"},
                    "source_type": {"type": "string", "enum": ["failure", "success", "mixed"]},
                }
            ),
        },
    }
)
RANKING_REPLY = _object({"reasoning": _TEXT, "selected_indices": {"type": "array", "items": {"type": "integer"}}})


class ReadPayload(Protocol):
    """Reads the items of one reply. Raises `ReplyError`."""

    def __call__(self, raw: object, *, source_type: str, support: int) -> Change: ...


@dataclass(frozen=True)
class AnalystReply:
    """A readable analyst reply: the patch (in the rewriting modes another change) and what the analyst saw."""

    patch: Change
    summary: tuple[JsonObject, ...] = ()
    patterns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Reminders for the skill's appendix (`optimizer.appendix`)."""
    labels: tuple[str, ...] = ()
    """One for each item of a success analyst, DISCOVERY or OPTIMIZATION; recorded, never acted on."""


def _mapping(raw: object) -> JsonObject:
    if not isinstance(raw, Mapping):
        raise ReplyError(f"the reply must be one JSON object, got {type(raw).__name__}")
    return {str(k): v for k, v in cast("Mapping[Any, Any]", raw).items()}


def _list(raw: object) -> list[JsonValue]:
    return cast("list[JsonValue]", raw) if isinstance(raw, list) else []


def _edits(raw: object, *, source_type: str, support: int) -> tuple[Edit, ...]:
    if not isinstance(raw, Sequence) or isinstance(raw, (str, bytes)):
        raise ReplyError('"edits" must be an array of edit objects')
    return tuple(Edit.from_json(e, source_type=source_type, support_count=support) for e in cast("Sequence[Any]", raw))


def read_patch(raw: object, *, source_type: str, support: int) -> Patch:
    """The object with `edits`, or the bare list of them. Raises `ReplyError` when there is no such list."""
    if isinstance(raw, list):
        return Patch(_edits(cast("Any", raw), source_type=source_type, support=support))
    reply = _mapping(raw)
    reasoning = reply.get("reasoning")
    edits = _edits(reply.get("edits"), source_type=source_type, support=support)
    return Patch(edits, reasoning if isinstance(reasoning, str) else "")


def read_analyst(
    raw: object, *, source_type: str, group_size: int, key: str = "edits", payload: ReadPayload = read_patch
) -> AnalystReply:
    """A reply in the shape of pipeline §5; a bare array is the list of items. `support_count` is the true group size.

    `payload` reads the object under "patch", whose list is called `key`. Where items come from is known, whatever the
    model wrote. Raises `ReplyError` when there is no patch.
    """
    if isinstance(raw, list):
        return AnalystReply(_from(payload(cast("Any", raw), source_type=source_type, support=group_size), source_type))
    reply = _mapping(raw)
    body = reply.get("patch", reply if key in reply else None)
    if not isinstance(body, Mapping):
        raise ReplyError(f'the reply has no "patch" object with "reasoning" and "{key}"')
    summary: Any = reply.get("failure_summary")
    patterns: Any = reply.get("success_patterns")
    return AnalystReply(
        patch=_from(payload(cast("Any", body), source_type=source_type, support=group_size), source_type),
        summary=tuple(_mapping(s) for s in _list(summary) if isinstance(s, Mapping)),
        patterns=tuple(p for p in _list(patterns) if isinstance(p, str)),
    )


def _from(change: Change, source_type: str) -> Change:
    return with_items(change, [replace(item, source_type=source_type) for item in change.items])


def read_compact(raw: object, *, source_type: str, group_size: int, budget: int) -> AnalystReply:
    """A reply of the compact profile, `{cause, rules[]}`: its rules become one appended list.

    Raises `ReplyError` when no rule is left.
    """
    reply = _mapping(raw)
    rules: Any = reply.get("rules")
    if not isinstance(rules, list):
        raise ReplyError('"rules" must be an array of short texts')
    lines = list(
        dict.fromkeys(" ".join(r.split()).lstrip("-*• ") for r in cast("list[JsonValue]", rules) if isinstance(r, str))
    )
    lines = [line for line in lines if line][:budget]
    if not lines:
        raise ReplyError('"rules" holds no rule')
    cause = reply.get("cause")
    edits = tuple(
        Edit("append", content=f"- {line}", source_type=source_type, support_count=group_size) for line in lines
    )
    summary = {"failure_type": "rule_missing", "count": group_size, "description": str(cause or "")}
    return AnalystReply(Patch(edits, str(cause or "")), (summary,))


def read_ranking(raw: object, *, count: int, budget: int) -> tuple[int, ...]:
    """Chosen indices: integers in range (numeric strings count), unique, in the returned order, at most `budget`.

    Raises `ReplyError` when the key is missing; an empty result is returned as it is and the caller falls back.
    """
    chosen: Any = cast("Any", raw) if isinstance(raw, list) else _mapping(raw).get("selected_indices")
    if not isinstance(chosen, list):
        raise ReplyError('the reply has no "selected_indices" array')
    indices: list[int] = []
    for entry in cast("list[JsonValue]", chosen):
        if isinstance(entry, str) and entry.strip().isdecimal():
            entry = int(entry)
        if isinstance(entry, int) and not isinstance(entry, bool) and 0 <= entry < count and entry not in indices:
            indices.append(entry)
    return tuple(indices[:budget])
