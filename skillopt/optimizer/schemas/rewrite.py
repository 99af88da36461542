"""The shapes of replies in the rewriting modes: suggestions, whole documents, the rewritten skill.

Like `schemas`: a JSON schema for backends that enforce one, a reader for all. A reader keeps every item it can read,
says in `meta` what was wrong with the others, and raises `ReplyError` when nothing of a non-empty list is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from skillopt.core.editing.change import (
    PRIORITIES,
    SOURCE_TYPES,
    SUGGESTION_TYPES,
    Document,
    Documents,
    Rewrite,
    Suggestion,
    Suggestions,
)
from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object

T = TypeVar("T")

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(properties: JsonObject) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _choice(values: Sequence[str]) -> dict[str, JsonValue]:
    return {"type": "string", "enum": list(values)}


_SUGGESTION = {
    "type": _choice(SUGGESTION_TYPES),
    "title": _TEXT,
    "motivation": _TEXT,
    "instruction": _TEXT,
    "priority_hint": _choice(PRIORITIES),
}
_DOCUMENT = {"title": _TEXT, "change_summary": _TEXTS, "new_skill": _TEXT}
_ORIGIN = {"support_count": {"type": "integer"}, "source_type": _choice(SOURCE_TYPES)}


def _listed(key: str, item: JsonObject, **bounds: int) -> dict[str, JsonValue]:
    return _object({"reasoning": _TEXT, key: {"type": "array", "items": _object(item), **bounds}})


SUGGESTIONS = _listed("revise_suggestions", _SUGGESTION)
DOCUMENTS = _listed("skill_candidates", _DOCUMENT, maxItems=1)
MERGE_SUGGESTIONS = _listed("revise_suggestions", {**_SUGGESTION, **_ORIGIN})
MERGE_DOCUMENTS = _listed("skill_candidates", {**_DOCUMENT, **_ORIGIN}, minItems=1, maxItems=1)
REWRITE_REPLY = _object({"reasoning": _TEXT, "change_summary": _TEXTS, "new_skill": _TEXT})


def with_payload(schema: JsonObject, payload: JsonObject) -> dict[str, JsonValue]:
    """An analyst's schema of the patch mode with another payload in the place of its patch."""
    return _object({**as_object(schema["properties"]), "patch": payload})


def read_suggestions(raw: object, *, source_type: str, support: int) -> Suggestions:
    """The object with `revise_suggestions`. `source_type` and `support` hold where an item says nothing usable.

    Raises `ReplyError` when the list is missing or nothing in it can be read.
    """

    def one(item: JsonObject) -> Suggestion:
        kind = "_".join(_text(item, "type").lower().replace("-", " ").split())
        if kind not in SUGGESTION_TYPES:
            raise ReplyError(f'"type" must be one of {", ".join(SUGGESTION_TYPES)}')
        instruction = _text(item, "instruction")
        if not instruction:
            raise ReplyError('"instruction" must be a text that says what to do')
        hint = _text(item, "priority_hint").lower()
        return Suggestion(
            type=kind,
            title=_text(item, "title") or instruction.splitlines()[0],
            motivation=_text(item, "motivation"),
            instruction=instruction,
            priority_hint=hint if hint in PRIORITIES else "medium",
            support_count=_count(item, support),
            source_type=_source(item, source_type),
        )

    items, reasoning, meta = _read(raw, "revise_suggestions", one)
    return Suggestions(items, reasoning, meta)


def read_documents(raw: object, *, source_type: str, support: int) -> Documents:
    """The object with `skill_candidates`: the first document with text, because exactly one is asked for.

    Raises `ReplyError` when the list is missing or no document in it has text.
    """

    def one(item: JsonObject) -> Document:
        if not _text(item, "new_skill"):
            raise ReplyError('"new_skill" must be the whole document as text')
        return Document(
            title=_text(item, "title"),
            change_summary=_texts(item.get("change_summary")),
            new_skill=str(item["new_skill"]),
            support_count=_count(item, support),
            source_type=_source(item, source_type),
        )

    items, reasoning, meta = _read(raw, "skill_candidates", one)
    return Documents(items[:1], reasoning, meta)


def read_rewrite(raw: object) -> Rewrite:
    """`{reasoning, change_summary[], new_skill}`. Raises `ReplyError` without a document."""
    reply = _mapping(raw)
    if not _text(reply, "new_skill"):
        raise ReplyError('"new_skill" must be the whole rewritten document as text')
    return Rewrite(str(reply["new_skill"]), _texts(reply.get("change_summary")), _text(reply, "reasoning"))


def _read(raw: object, key: str, one: Callable[[JsonObject], T]) -> tuple[tuple[T, ...], str, dict[str, JsonValue]]:
    """(items, reasoning, meta with what was invalid)."""
    reply = {key: as_array(cast("object", raw))} if isinstance(raw, list) else _mapping(raw)
    if not isinstance(reply.get(key), list):
        raise ReplyError(f'the reply has no "{key}" array')
    items: list[T] = []
    invalid: list[str] = []
    for number, entry in enumerate(as_array(reply[key]), start=1):
        try:
            items.append(one(_mapping(entry)))
        except ReplyError as error:
            invalid.append(f"item {number}: {error.message}")
    if invalid and not items:
        raise ReplyError(f'"{key}" holds no usable item; {invalid[0]}')
    return tuple(items), _text(reply, "reasoning"), {"invalid": invalid} if invalid else {}


def _mapping(raw: object) -> JsonObject:
    if not isinstance(raw, Mapping):
        raise ReplyError(f"a JSON object is expected, got {type(raw).__name__}")
    return as_object(cast("object", raw))


def _text(item: JsonObject, key: str) -> str:
    """The text under a key, stripped; blank for another type and for half a surrogate pair, which no file can hold."""
    return _clean(item.get(key))


def _clean(value: object) -> str:
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        return ""
    return value.strip()


def _texts(raw: object) -> tuple[str, ...]:
    """A list of texts, or one text; anything else in it is left out."""
    entries: list[object] = list(as_array(cast("object", raw))) if isinstance(raw, list) else [raw]
    return tuple(text for entry in entries if (text := _clean(entry)))


def _count(item: JsonObject, default: int) -> int:
    value = item.get("support_count")
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default


def _source(item: JsonObject, default: str) -> str:
    value = item.get("source_type")
    return value if isinstance(value, str) and value in SOURCE_TYPES else default
