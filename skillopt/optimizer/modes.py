"""Update modes: what analysts return, how it is merged and listed, and which prompts ask for it.

`patch` is the default: edits, applied by code. `rewrite_from_suggestions` lets one call work advice into the whole
skill; use it when edits keep missing their anchors or the skill grows untidy. `full_rewrite_minibatch` takes whole
documents from the analysts, without a budget; use it for short skills and strong optimizers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.core.editing.change import Change, Document, Documents, Payload, Suggestion, Suggestions
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.optimizer.schemas.edits import (
    FAILURE_REPLY,
    MERGE_REPLY,
    SUCCESS_REPLY,
    AnalystReply,
    ReadPayload,
    read_analyst,
    read_patch,
)
from skillopt.optimizer.schemas.rewrite import (
    DOCUMENTS,
    MERGE_DOCUMENTS,
    MERGE_SUGGESTIONS,
    SUGGESTIONS,
    read_documents,
    read_suggestions,
    with_payload,
)
from skillopt.optimizer.trajectory import cut


@dataclass(frozen=True)
class UpdateMode:
    """One way to change a skill. `noun` names an item for people, `key` in replies and files."""

    name: str
    noun: str
    key: str
    suffix: str
    """Of the prompts' names: `analyst_error<suffix>_system`, `merge<suffix>_system`, `ranking<suffix>_system`."""
    empty: Change
    payload: JsonObject | None
    """Schema of an analyst's items; None leaves the analyst schemas as they are."""
    merge_schema: JsonObject
    read: ReadPayload
    describe: Callable[[Any], str]
    """One line of an item, for lists in prompts."""
    budgeted: bool = True
    """Whether an edit budget applies: whole documents have none."""

    def analyst_schema(self, kind: str) -> JsonObject:
        """What a failure or success analyst must return."""
        schema = FAILURE_REPLY if kind == "failure" else SUCCESS_REPLY
        return schema if self.payload is None else with_payload(schema, self.payload)

    def read_analyst(self, raw: object, *, source_type: str, group_size: int) -> AnalystReply:
        """Read an analyst's reply. Raises `ReplyError`."""
        return read_analyst(raw, source_type=source_type, group_size=group_size, key=self.key, payload=self.read)

    def limit(self, budget: int) -> str:
        """The budget statement of prompts."""
        return f"At most {budget} {self.noun}s." if self.budgeted else "One complete replacement skill."

    def lines(self, items: tuple[Payload, ...]) -> str:
        """The numbered list of items in prompts: `[0] …`."""
        return "\n".join(f"[{n}] {self.describe(item)}" for n, item in enumerate(items))


def _edit_line(edit: Edit) -> str:
    place = f" at «{cut(edit.target, 160)}»" if edit.target else ""
    return f"{edit.op}{place} (support {edit.support_count}, {edit.source_type}): {cut(edit.content or '', 500)}"


def _suggestion_line(item: Suggestion) -> str:
    head = f"{item.type} «{cut(item.title, 160)}» ({item.priority_hint} priority, support {item.support_count}, "
    why = f" Why: {cut(item.motivation, 300)}" if item.motivation else ""
    return f"{head}{item.source_type}): {cut(item.instruction, 500)}{why}"


def _document_line(item: Document) -> str:
    return f"«{cut(item.title, 160)}» ({item.source_type}): {'; '.join(item.change_summary)}"


PATCH = UpdateMode("patch", "edit", "edits", "", Patch(), None, MERGE_REPLY, read_patch, _edit_line)
REWRITE = UpdateMode(
    "rewrite_from_suggestions",
    "suggestion",
    "revise_suggestions",
    "_rewrite",
    Suggestions(),
    SUGGESTIONS,
    MERGE_SUGGESTIONS,
    read_suggestions,
    _suggestion_line,
)
FULL_REWRITE = UpdateMode(
    "full_rewrite_minibatch",
    "document",
    "skill_candidates",
    "_full_rewrite",
    Documents(),
    DOCUMENTS,
    MERGE_DOCUMENTS,
    read_documents,
    _document_line,
    budgeted=False,
)
MODES: Mapping[str, UpdateMode] = {mode.name: mode for mode in (PATCH, REWRITE, FULL_REWRITE)}


def update_mode(name: str) -> UpdateMode:
    """The mode of that name. Raises `ConfigError` for another one."""
    if name not in MODES:
        raise ConfigError(f"optimizer.skill_update_mode={name!r}: expected one of {', '.join(MODES)}")
    return MODES[name]
