"""Edits and patches as the optimizer proposes them, and the report of what became of each.

An edit is data until the editor (`core.editing.editor`) has looked at it: nothing here guesses, repairs or applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text

OPS = ("append", "insert_after", "replace", "delete")
_UNUSED = {"append": ("target",), "insert_after": (), "replace": (), "delete": ("content",)}


@dataclass(frozen=True)
class Edit:
    """One proposed change. `op` is free text until it is applied: an unknown one gets a status, not an exception."""

    op: str
    target: str | None = None
    content: str | None = None
    support_count: int = 1
    source_type: str = "failure"
    merge_level: int | None = None
    invalid: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape; unset fields are left out."""
        out: dict[str, JsonValue] = {"op": self.op}
        if self.target is not None:
            out["target"] = self.target
        if self.content is not None:
            out["content"] = self.content
        out["support_count"] = self.support_count
        out["source_type"] = self.source_type
        if self.merge_level is not None:
            out["merge_level"] = self.merge_level
        if self.invalid:
            out["invalid"] = self.invalid
        return out

    @classmethod
    def from_json(cls, raw: object, *, source_type: str = "failure", support_count: int = 1) -> Edit:
        """Read one edit of a model's reply. A schema violation (null, wrong type) makes only this one `invalid`."""
        if not isinstance(raw, Mapping):
            return cls(op="", invalid=f"an edit must be an object, got {type(raw).__name__}", source_type=source_type)
        values = as_object(cast("object", raw))
        op = values.get("op")
        # A strict JSON schema makes a model write every field: null where the operation has no use for it.
        unused = _UNUSED.get(op, ("target", "content")) if isinstance(op, str) else ()
        problems = [
            f"{key} must be text, got {type(values[key]).__name__}"
            for key in ("op", "target", "content")
            if key in values and not isinstance(values[key], str) and not (values[key] is None and key in unused)
        ]
        if "op" not in values:
            problems.append("op is missing")
        count = values.get("support_count", support_count)
        level = values.get("merge_level")
        source = values.get("source_type")
        target, content = values.get("target"), values.get("content")
        return cls(
            op=as_text(op),
            target=target if isinstance(target, str) else None,
            content=content if isinstance(content, str) else None,
            support_count=count
            if isinstance(count, int) and not isinstance(count, bool) and count > 0
            else support_count,
            source_type=source
            if isinstance(source, str) and source in ("failure", "success", "mixed")
            else source_type,
            merge_level=level if isinstance(level, int) and not isinstance(level, bool) else None,
            invalid="; ".join(problems),
        )


@dataclass(frozen=True)
class Patch:
    """An ordered list of edits with the reasoning that produced it."""

    edits: tuple[Edit, ...] = ()
    reasoning: str = ""
    meta: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def items(self) -> tuple[Edit, ...]:
        """The edits, under the name that every kind of change has (`core.editing.change`)."""
        return self.edits

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape, `meta` (summaries, group, warnings) merged in."""
        return {"reasoning": self.reasoning, "edits": [e.to_json() for e in self.edits], **self.meta}


@dataclass(frozen=True)
class EditStatus:
    """What became of one edit. `index` counts from 1; `note` says how a match was made or what stood nearest."""

    index: int
    edit: Edit
    status: str
    note: str = ""

    @property
    def applied(self) -> bool:
        """True when the text changed because of this edit."""
        return self.status.startswith("applied")

    def to_json(self) -> dict[str, JsonValue]:
        """A row of `edit_apply_report.json`."""
        row: dict[str, JsonValue] = {
            "index": self.index,
            "op": self.edit.op,
            "target": (self.edit.target or "")[:200],
            "content_preview": (self.edit.content or "")[:200],
            "status": self.status,
        }
        if self.note:
            row["note"] = self.note
        return row


@dataclass(frozen=True)
class EditReport:
    """One status per edit, in order."""

    statuses: tuple[EditStatus, ...] = ()

    def summary(self) -> dict[str, int]:
        """`{total, applied, skipped, errors}` of the step record."""
        applied = sum(s.applied for s in self.statuses)
        errors = sum(s.status == "error" for s in self.statuses)
        total = len(self.statuses)
        return {"total": total, "applied": applied, "skipped": total - applied - errors, "errors": errors}
