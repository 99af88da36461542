"""What a step may carry from analysts to the skill: edits, suggestions for a rewrite, or whole documents.

`Change` is one of `Patch`, `Suggestions` and `Documents`; merging, ranking and records treat the three alike through
`items`, `reasoning`, `meta` and `to_json`. Only the update (`optimizer.rewrite`, `editor`) knows them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.json_types import JsonObject, JsonValue

SUGGESTION_TYPES = ("add_rule", "remove_rule", "merge_rules", "reorganize", "compress", "clarify")
PRIORITIES = ("high", "medium", "low")
SOURCE_TYPES = ("failure", "success", "mixed")


@dataclass(frozen=True)
class Suggestion:
    """Advice for whoever rewrites the skill. `instruction` says what to do, `motivation` why; neither is skill text."""

    type: str
    title: str
    motivation: str
    instruction: str
    priority_hint: str = "medium"
    support_count: int = 1
    source_type: str = "failure"
    merge_level: int | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape; `merge_level` is left out before the first merge."""
        out: dict[str, JsonValue] = {
            "type": self.type,
            "title": self.title,
            "motivation": self.motivation,
            "instruction": self.instruction,
            "priority_hint": self.priority_hint,
            "support_count": self.support_count,
            "source_type": self.source_type,
        }
        return out if self.merge_level is None else {**out, "merge_level": self.merge_level}


@dataclass(frozen=True)
class Document:
    """A whole replacement for the skill, as its writer wrote it: header and regions are put back later, by code."""

    title: str
    change_summary: tuple[str, ...]
    new_skill: str
    support_count: int = 1
    source_type: str = "failure"
    merge_level: int | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape; `merge_level` is left out before the first merge."""
        out: dict[str, JsonValue] = {
            "title": self.title,
            "change_summary": list(self.change_summary),
            "new_skill": self.new_skill,
            "support_count": self.support_count,
            "source_type": self.source_type,
        }
        return out if self.merge_level is None else {**out, "merge_level": self.merge_level}


@dataclass(frozen=True)
class Suggestions:
    """Suggestions in order, with the reasoning that produced them."""

    items: tuple[Suggestion, ...] = ()
    reasoning: str = ""
    meta: JsonObject = field(default_factory=dict[str, JsonValue])

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape, `meta` merged in."""
        return {
            "reasoning": self.reasoning,
            "revise_suggestions": [item.to_json() for item in self.items],
            **self.meta,
        }


@dataclass(frozen=True)
class Documents:
    """Whole documents in order, with the reasoning that produced them."""

    items: tuple[Document, ...] = ()
    reasoning: str = ""
    meta: JsonObject = field(default_factory=dict[str, JsonValue])

    def to_json(self) -> dict[str, JsonValue]:
        """The published shape, `meta` merged in."""
        return {"reasoning": self.reasoning, "skill_candidates": [item.to_json() for item in self.items], **self.meta}

    @property
    def first(self) -> Document | None:
        """The first document with text: the candidate."""
        return next((item for item in self.items if item.new_skill.strip()), None)


@dataclass(frozen=True)
class Rewrite:
    """What a rewrite came to. `text` is what the writer wrote; `lost` says why it gives no candidate, else blank."""

    text: str = ""
    change_summary: tuple[str, ...] = ()
    reasoning: str = ""
    lost: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """`rewrite_result.json`."""
        body: dict[str, JsonValue] = {
            "reasoning": self.reasoning,
            "change_summary": list(self.change_summary),
            "new_skill": self.text,
        }
        return {**body, "dropped": self.lost} if self.lost else body


Payload = Edit | Suggestion | Document
Change = Patch | Suggestions | Documents


def with_items(change: Change, items: Sequence[Payload]) -> Change:
    """The same change with other items, which must be of its kind."""
    if isinstance(change, Patch):
        return replace(change, edits=tuple(cast("Sequence[Edit]", items)))
    if isinstance(change, Suggestions):
        return replace(change, items=tuple(cast("Sequence[Suggestion]", items)))
    return replace(change, items=tuple(cast("Sequence[Document]", items)))


def concatenated(changes: Sequence[Change], warning: str = "") -> Change:
    """All items in order, none lost; `changes` are of one kind and at least one."""
    reasoning = "\n".join(c.reasoning for c in changes if c.reasoning)
    whole = with_items(changes[0], [item for c in changes for item in c.items])
    return replace(whole, reasoning=reasoning, meta={"warning": warning} if warning else {})


def at_level(change: Change, level: int | None) -> Change:
    """Every item stamped with the merge level that produced it; None stamps nothing."""
    if level is None:
        return change
    return with_items(change, [replace(item, merge_level=level) for item in change.items])
