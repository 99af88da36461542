"""Skill-aware reflection: defects of the skill become edits, lapses of the target become reminders in the appendix.

A lapse is a failure although a right rule exists: another rule would only be ignored too. Its reminder travels beside
the patch of an analyst's reply, a reply may hold nothing else, and it is the engine that asks the gate about it. Here
are the shapes of such replies, the one key that makes two notes one (`core.editing.regions.note_key`), and the call
that shortens a list that has grown too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from skillopt.core.editing.regions import note_key, without_markers
from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.optimizer.context import StageContext
from skillopt.optimizer.optional import ask_optional
from skillopt.optimizer.schemas.edits import AnalystReply
from skillopt.records.vocabulary import Stage

CAUSES = ("SKILL_DEFECT", "EXECUTION_LAPSE")
LABELS = ("DISCOVERY", "OPTIMIZATION")
CONSOLIDATE_TOKENS = 4_096
CONSOLIDATE_ATTEMPTS = 2
_TEXTS = {"type": "array", "items": {"type": "string"}}
NOTES_REPLY: JsonObject = {
    "type": "object",
    "properties": {"notes": _TEXTS},
    "required": ["notes"],
    "additionalProperties": False,
}


def read_notes(raw: object) -> tuple[str, ...]:
    """Notes in any of the accepted shapes: a list of texts, one text, objects with `note` or `content`.

    Each becomes one line without bullet and markers; what says nothing, and what says the same again, is left out.
    """
    entries: list[object] = list(as_array(cast("object", raw))) if isinstance(raw, list) else [raw]
    found: dict[str, str] = {}
    for entry in entries:
        value: object = entry
        if isinstance(entry, Mapping):
            fields = as_object(cast("object", entry))
            value = fields.get("note") or fields.get("content")
        line = _line(value) if isinstance(value, str) else ""
        if note_key(line):
            found.setdefault(note_key(line), line)
    return tuple(found.values())


def _line(text: str) -> str:
    """One line; blank for half a surrogate pair, which no file can hold."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        return ""
    return " ".join(without_markers(text).split()).lstrip("-*• ").strip()


def new_notes(existing: Iterable[str], proposed: Iterable[str]) -> tuple[str, ...]:
    """The proposed notes that `existing` does not hold, each once, the first wording of each."""
    known = {note_key(note) for note in existing}
    found: dict[str, str] = {}
    for note in proposed:
        if note_key(note) not in known:
            found.setdefault(note_key(note), note)
    return tuple(found.values())


def with_notes(schema: JsonObject, kind: str, *, notes: bool) -> dict[str, JsonValue]:
    """An analyst's schema with what skill-aware reflection adds: a cause for each failure, a label for each success
    item, and, where the analyst may write some, notes."""
    properties: dict[str, JsonValue] = as_object(schema["properties"])
    if kind == "failure":
        summary = as_object(properties["failure_summary"])
        entry = as_object(summary["items"])
        fields = {"cause": {"type": "string", "enum": list(CAUSES)}, **as_object(entry["properties"])}
        properties["failure_summary"] = {**summary, "items": _with_all(entry, fields)}
    else:
        properties["labels"] = {"type": "array", "items": {"type": "string", "enum": list(LABELS)}}
    if notes:
        properties["appendix_notes"] = _TEXTS
    return _with_all(schema, properties)


def _with_all(schema: JsonObject, properties: JsonObject) -> dict[str, JsonValue]:
    return {**schema, "properties": dict(properties), "required": list(properties)}


def read_aware(
    raw: object, read: Callable[[object], AnalystReply], nothing: AnalystReply, *, notes: bool
) -> AnalystReply:
    """An analyst's reply with its notes and labels. One that holds notes and no patch carries the notes on `nothing`.

    Raises what `read` raises for a reply without either.
    """
    fields: JsonObject = as_object(raw)
    written = read_notes(fields.get("appendix_notes")) if notes else ()
    try:
        reply = read(raw)
    except ReplyError:
        if not written or fields.get("patch") is not None:
            raise
        reply = nothing
    kept = [label for label in map(as_text, as_array(fields.get("labels"))) if label in LABELS]
    return replace(reply, notes=written, labels=tuple(kept))


@dataclass(frozen=True)
class PendingNote:
    """A note that is not in the skill: first proposed at `step`; `refused` is the hash of the text in which the gate
    refused it last, blank when the gate did not decide."""

    note: str
    step: int
    refused: str = ""

    @property
    def undecided(self) -> bool:
        """True when it is still to be tried, and not its fault."""
        return not self.refused

    def to_json(self) -> dict[str, JsonValue]:
        """A row of `appendix_notes.json`."""
        return {"note": self.note, "step": self.step, "status": "undecided" if self.undecided else "rejected"}


@dataclass(frozen=True)
class Consolidation:
    """The notes after the call. `lost` says why they are unchanged; blank when they were shortened."""

    notes: tuple[str, ...]
    lost: str = ""


async def consolidate(notes: Sequence[str], ctx: StageContext) -> Consolidation:
    """Ask for a shorter list. Anything but a non-empty, strictly shorter one leaves the notes as they are.

    Raises `StopRun`.
    """
    request = replace(
        ctx.request(
            ctx.prompts.render("appendix_consolidate_system"),
            ctx.prompts.render("appendix_consolidate_user", notes="\n".join(f"- {note}" for note in notes)),
            stage=Stage.APPENDIX_CONSOLIDATE,
            cap=CONSOLIDATE_TOKENS,
        ),
        attempts=CONSOLIDATE_ATTEMPTS,
        schema=NOTES_REPLY,
        schema_name="appendix_consolidate",
    )

    def read(raw: object) -> tuple[str, ...]:
        entries: Any = cast("JsonObject", raw).get("notes") if isinstance(raw, Mapping) else raw
        shorter = read_notes(entries)
        if not 0 < len(shorter) < len(notes):
            raise ReplyError(f'"notes" must hold at least 1 and at most {len(notes) - 1} notes, got {len(shorter)}')
        return shorter

    shorter, lost = await ask_optional(ctx, request, read)
    return Consolidation(tuple(notes), lost) if shorter is None else Consolidation(shorter)
