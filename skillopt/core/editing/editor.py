"""The byte-safe editor: applies a patch to a skill, one edit after the other, and says what became of each.

Nothing is guessed. An anchor is found exactly, or else with its whitespace normalised, and only where that match is
unique in the body; every occurrence counts over its full span, overlapping ones too. Header and protected regions are
read-only: a match that touches them is refused, and after every edit their bytes are compared with those before; a
difference undoes the edit. Edits never raise: a fault in one becomes its status, and the rest goes on. Line ends of the
document stay as they are; what the editor adds ends in LF. In the files of a package an anchor is found exactly only,
what is put there keeps its indentation, and `append` with a file's path as its target adds to the end of that file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.core.editing.anchor import NOTE_CHARS, find_anchor
from skillopt.core.editing.edit import OPS, Edit, EditReport, EditStatus, Patch
from skillopt.core.editing.regions import without_markers
from skillopt.core.package import PackagedFile
from skillopt.core.skill import Skill, Span

Fallback = Literal["skip", "append"]

STATUSES = frozenset(
    {
        "applied_append",
        "applied_append_before_protected_region",
        "applied_insert_after",
        "applied_replace",
        "applied_delete",
        "applied_insert_after_fallback_append",
        "applied_insert_after_fallback_before_protected_region",
        "skipped_insert_after_target_not_found",
        "skipped_replace_missing_target",
        "skipped_delete_missing_target",
        "skipped_replace_target_not_found",
        "skipped_delete_target_not_found",
        "skipped_ambiguous_target",
        "skipped_protected_region",
        "skipped_empty_content",
        "skipped_invalid_edit",
        "skipped_unknown_op",
        "error",
    }
)


def apply_patch(skill: Skill, patch: Patch, *, insert_after_fallback: Fallback = "skip") -> tuple[Skill, EditReport]:
    """Apply the edits of `patch` in order; the report holds one status per edit.

    `insert_after_fallback="append"` appends the content of an `insert_after` whose target is empty or not found; the
    default leaves the text alone. Never raises.
    """
    statuses: list[EditStatus] = []
    for index, edit in enumerate(patch.edits, start=1):
        result = _guarded(skill, edit, insert_after_fallback)
        skill = result.skill
        statuses.append(EditStatus(index=index, edit=edit, status=result.status, note=result.note))
    return skill, EditReport(tuple(statuses))


def located(skill: Skill, edit: Edit) -> Span | None:
    """The stretch of the text that an anchored edit changes: its target, or the empty span where it inserts.

    None for `append`, and where the target is missing, ambiguous or protected.
    """
    if edit.op == "append":
        return None
    span = find_anchor(skill, edit.target or "").span
    if span is None or edit.op != "insert_after":
        return span
    at = _next_line(skill.text, span.end)
    return Span(at, at)


@dataclass(frozen=True)
class _Result:
    skill: Skill
    status: str
    note: str = ""


def _guarded(skill: Skill, edit: Edit, fallback: Fallback) -> _Result:
    """One edit, checked before and compared after."""
    try:
        result = _apply(skill, edit, fallback)
        if result.skill is not skill and not protected_intact(skill, result.skill):
            note = "undone: the edit would have changed the header, a protected region or their markers"
            return _Result(skill, "skipped_protected_region", note)
        return result
    except Exception as fault:  # noqa: BLE001
        # What a model can write is checked above, so this is a fault of ours. A paid step does not die of it: the row
        # of the edit says what it was, the report counts such rows (`report.reasons.alarms`), and the
        # other edits still apply.
        return _Result(skill, "error", f"{type(fault).__name__}: {fault}"[:NOTE_CHARS])


def _apply(skill: Skill, edit: Edit, fallback: Fallback) -> _Result:
    problem = edit.invalid or _wrong_type(edit)
    if problem:
        return _Result(skill, "skipped_invalid_edit", problem)
    if edit.op not in OPS:
        return _Result(skill, "skipped_unknown_op", f"known operations: {', '.join(OPS)}")
    target = edit.target or ""
    file = _file_of(skill, edit)
    content = without_markers(edit.content or "")
    content = content.strip() if file is None else _as_lines(content, target if edit.op == "replace" else "")
    if edit.op in ("replace", "delete") and not target.strip():
        return _Result(skill, f"skipped_{edit.op}_missing_target")
    if edit.op != "delete" and not content:
        return _Result(skill, "skipped_empty_content")
    if edit.op == "append":
        return _append(skill, content) if file is None else _append_to_file(skill, file, content)
    return _anchored(skill, edit.op, target, content, fallback)


def _wrong_type(edit: Edit) -> str:
    """A schema violation of an edit built by hand (a reply's were found when it was read), or text without UTF-8."""
    for name in ("op", "target", "content"):
        value: object = getattr(edit, name)
        if not isinstance(value, str) and (value is not None or name == "op"):
            return f"{name} must be text, got {type(value).__name__}"
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            return f"{name} holds half a surrogate pair, which no UTF-8 file can"
    return ""


def _anchored(skill: Skill, op: str, target: str, content: str, fallback: Fallback) -> _Result:
    match = find_anchor(skill, target)
    if match.span is None:
        if match.problem == "ambiguous":
            return _Result(skill, "skipped_ambiguous_target", match.note)
        if match.problem == "protected":
            return _Result(skill, "skipped_protected_region", match.note)
        if op == "insert_after" and fallback == "append":
            result = _append(skill, content)
            where = "before_protected_region" if result.status.endswith("protected_region") else "append"
            return _Result(result.skill, f"applied_insert_after_fallback_{where}", match.note)
        return _Result(skill, f"skipped_{op}_target_not_found", match.note)
    text, start, end = skill.text, match.span.start, match.span.end
    if op == "insert_after":
        at = _next_line(text, end)
        file = _file_at(skill, start)
        if file is not None:
            return _Result(_inserted(skill, file, min(at, file.end), content), "applied_insert_after", match.note)
        if any(span.start < at < span.end for span in skill.protected):
            return _Result(skill, "skipped_protected_region", "the line after the target lies in protected text")
        return _Result(Skill(f"{text[:at]}\n{content}\n{text[at:]}"), "applied_insert_after", match.note)
    return _Result(Skill(text[:start] + (content if op == "replace" else "") + text[end:]), f"applied_{op}", match.note)


def _file_of(skill: Skill, edit: Edit) -> PackagedFile | None:
    """The file of the package that an edit is for; None where it is for SKILL.md."""
    if not skill.files or not isinstance(edit.target, str):
        return None
    if edit.op == "append":
        return next((file for file in skill.files if file.path == edit.target.strip()), None)
    span = find_anchor(skill, edit.target).span
    return _file_at(skill, span.start) if span is not None else None


def _file_at(skill: Skill, at: int) -> PackagedFile | None:
    """The file that a place of the document lies in."""
    return next((file for file in skill.files if file.start <= at <= file.end), None)


def _as_lines(content: str, target: str) -> str:
    """Content for a file: its indentation stays, and it begins and ends with as many line ends as what it replaces."""
    words, old = content.strip("\r\n").rstrip(), target.strip("\r\n")
    if not words or not old:
        return words
    at = target.index(old)
    return target[:at] + words + target[at + len(old) :]


def _append_to_file(skill: Skill, file: PackagedFile, content: str) -> _Result:
    return _Result(_inserted(skill, file, file.end, content), "applied_append")


def _inserted(skill: Skill, file: PackagedFile, at: int, content: str) -> Skill:
    """The document with lines put into a file: on lines of their own, and nothing else is moved."""
    text = skill.text
    before = "\n" if at > file.editable and text[at - 1] != "\n" else ""
    after = "" if at == file.end and before else "\n"
    return Skill(f"{text[:at]}{before}{content}{after}{text[at:]}")


def _next_line(text: str, end: int) -> int:
    """Start of the line after the one that holds the last matched character; the end of the text when none follows."""
    newline = text.find("\n", end - 1)
    return len(text) if newline < 0 else newline + 1


def _append(skill: Skill, content: str) -> _Result:
    """Append at the end of the body: before the earliest region, else at the end of the text."""
    text, blocks = skill.text, _blocks(skill)
    header_end = skill.header.end if skill.header else 0
    region = next((block for block in blocks if block.start >= header_end), None)
    at = region.start if region else len(text)
    # Only white space of the body may be trimmed, never the line end that belongs to the header.
    floor = max((block.end for block in blocks if block.end <= at), default=0)
    before = text[:at].rstrip()
    if len(before) < floor:
        before = text[:floor]
    gap = "\n" if floor == len(before) and before.endswith("\n") else "\n\n"
    if region:
        frame = any(span.start == region.start for span in skill.frames)
        below = text[at:] if frame else f"\n{text[at:]}"
        return _Result(Skill(f"{before}{gap}{content}\n{below}"), "applied_append_before_protected_region")
    return _Result(Skill(f"{before}{gap}{content}\n"), "applied_append")


def _blocks(skill: Skill) -> list[Span]:
    """Protected spans, overlapping ones joined, in order."""
    blocks: list[Span] = []
    for span in sorted(skill.protected, key=lambda s: (s.start, s.end)):
        if blocks and span.start < blocks[-1].end:
            blocks[-1] = Span(blocks[-1].start, max(blocks[-1].end, span.end))
        else:
            blocks.append(span)
    return blocks


def protected_intact(before: Skill, after: Skill) -> bool:
    """True when header and regions have the same bytes in both texts, and none came or went."""
    old, new = _header_text(before), _header_text(after)
    # A header that ended the document gains the line end that separates it from the first body line.
    same_header = new == old or (bool(old) and not old.endswith("\n") and new == old + "\n")
    return same_header and _region_texts(before) == _region_texts(after) and _frame_texts(before) == _frame_texts(after)


def _header_text(skill: Skill) -> str:
    return skill.text[skill.header.start : skill.header.end] if skill.header else ""


def _frame_texts(skill: Skill) -> list[str]:
    return [skill.text[span.start : span.end] for span in skill.frames]


def _region_texts(skill: Skill) -> list[str]:
    return [skill.text[span.start : span.end] for span in skill.regions]
