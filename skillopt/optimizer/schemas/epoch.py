"""The shapes of the replies at an epoch's end: guidance (slow update), memory (meta skill), one more patch (meta
reflection). As in `optimizer.schemas`, a reader raises `ReplyError` with a sentence the model can act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from skillopt.core.editing.edit import OPS
from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue, as_object


def _object(properties: JsonObject) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}
_EDIT = _object({"op": {"type": "string", "enum": list(OPS)}, "target": _NULLABLE, "content": _NULLABLE})

SLOW_UPDATE_REPLY = _object({"reasoning": _TEXT, "slow_update_content": _TEXT})
META_SKILL_REPLY = _object({"reasoning": _TEXT, "meta_skill_content": _TEXT})
META_REFLECT_REPLY = _object(
    {"meta_summary": _TEXT, "patch": _object({"reasoning": _TEXT, "edits": {"type": "array", "items": _EDIT}})}
)


@dataclass(frozen=True)
class Written:
    """A text that the optimizer wrote, and why. `content` is stripped and may be blank: nothing to say."""

    content: str
    reasoning: str = ""


def reply_object(raw: object) -> dict[str, JsonValue]:
    """The reply as an object. Raises `ReplyError` for anything else."""
    if not isinstance(raw, Mapping):
        raise ReplyError(f"the reply must be one JSON object, got {type(raw).__name__}")
    return as_object(cast("object", raw))


def text_field(reply: JsonObject, name: str) -> str:
    """A text of the reply, stripped; null reads as blank. Raises `ReplyError` when it is absent or no text."""
    if name not in reply:
        raise ReplyError(f'the reply has no "{name}"')
    value = reply[name]
    if value is not None and not isinstance(value, str):
        raise ReplyError(f'"{name}" must be text, got {type(value).__name__}')
    return (value or "").strip()


def read_written(raw: object, field: str) -> Written:
    """A reply `{reasoning, <field>}`. Raises `ReplyError`."""
    reply = reply_object(raw)
    reasoning = reply.get("reasoning")
    return Written(text_field(reply, field), reasoning if isinstance(reasoning, str) else "")


def with_patch(schema: JsonObject, payload: JsonObject) -> dict[str, JsonValue]:
    """The schema with other items in its `patch`."""
    return {**schema, "properties": {**as_object(schema["properties"]), "patch": dict(payload)}}
