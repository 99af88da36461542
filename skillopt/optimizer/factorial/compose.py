"""A subset of edits as one text: order-free and byte-safe.

Every edit is first looked up in the base alone. What changes a stretch of the base is applied at its own place, all at
once, so that no edit moves or doubles another's anchor; then come the appended texts, then edits whose anchor another
edit brings. Order is by factor number only: equal subsets give equal bytes, the empty one those of the base. Header and
protected regions are compared with the base at the end; where together edits would touch them, the subset is applied
one edit after the other instead, and the editor undoes the one that does it. What cannot be applied is reported as
absent, with the reason, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch, located, protected_intact
from skillopt.core.editing.regions import without_markers
from skillopt.core.skill import Skill, Span


@dataclass(frozen=True)
class Composed:
    """The text of a subset, and the factors that are not in it although they were asked for."""

    skill: Skill
    absent: Mapping[int, str]


@dataclass(frozen=True)
class _Change:
    """`text` in place of a stretch of the base."""

    number: int
    span: Span
    text: str


def compose(base: Skill, edits: Mapping[int, Edit], subset: Iterable[int]) -> Composed:
    """The base with the edits of `subset` (numbers of `edits`) applied. Never raises for what an edit holds."""
    numbers = sorted(set(subset))
    changes = {n: change for n in numbers if (change := _change(base, n, edits[n])) is not None}
    first: list[_Change] = []
    absent: dict[int, str] = {}
    for number, change in changes.items():
        other = next((c.number for c in first if _clash(change, c)), None)
        if other is None:
            first.append(change)
        else:
            absent[number] = f"changes the same place as edit {other}"
    skill = _at_once(base, first)
    together = protected_intact(base, skill)
    if not together:
        skill = base
    late = [n for n in numbers if n not in absent and not (together and n in changes)]
    for number in sorted(late, key=lambda n: (n not in changes, edits[n].op != "append", n)):
        skill, report = apply_patch(skill, Patch((edits[number],)))
        status = report.statuses[0]
        if not status.applied:
            absent[number] = f"{status.status}: {status.note}".rstrip(": ")
    return Composed(skill, absent)


def relations(base: Skill, edits: Sequence[Edit]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """(pairs of alternatives: edits on one place; pairs of (edit, the earlier edit that brings its anchor))."""
    changes = [_change(base, n, edit) for n, edit in enumerate(edits)]
    alternatives: set[tuple[int, int]] = set()
    needs: set[tuple[int, int]] = set()
    for number, (edit, change) in enumerate(zip(edits, changes, strict=True)):
        if change is not None:
            clashing = (o.number for o in changes[:number] if o is not None and _clash(change, o))
            alternatives |= {(other, number) for other in clashing}
        elif edit.op != "append" and edit.target:
            bringers = (n for n in range(number) if edit.target.strip() in without_markers(edits[n].content or ""))
            needs |= {(number, other) for other in list(bringers)[:1]}
    return alternatives, needs


def unusable(base: Skill, edit: Edit, others: Sequence[Edit] = ()) -> str:
    """Why an edit can never be applied, alone or after one of the others; empty when it can."""
    reason = ""
    for before in ((), *((other,) for other in others if edit.target and edit.target.strip() in (other.content or ""))):
        skill, _ = apply_patch(base, Patch(tuple(before)))
        after, report = apply_patch(skill, Patch((edit,)))
        if report.statuses[0].applied and after.text != skill.text:
            return ""
        reason = reason or f"{report.statuses[0].status}: {report.statuses[0].note}".rstrip(": ")
    return reason or "changes nothing"


def _change(base: Skill, number: int, edit: Edit) -> _Change | None:
    """The edit as a change of the base; None for an append, and for what the editor refuses on the base alone."""
    place = None if edit.op == "append" else _place(base, edit)
    return None if place is None else _Change(number, *place)


@lru_cache(maxsize=4096)
def _place(base: Skill, edit: Edit) -> tuple[Span, str] | None:
    """The stretch of the base and the text in its place. Every subset of a run asks for the same few."""
    _, report = apply_patch(base, Patch((edit,)))
    where = located(base, edit) if report.statuses[0].applied else None
    if where is None:
        return None
    content = without_markers(edit.content or "").strip()
    text = {"insert_after": f"\n{content}\n", "replace": content, "delete": ""}[edit.op]
    return where, text


def _clash(one: _Change, other: _Change) -> bool:
    """True when both change one stretch, or one adds inside of what the other takes away."""
    a, b = one.span, other.span
    if a.start == a.end and b.start == b.end:
        return False
    return a.overlaps(b.start, b.end) if b.start != b.end else b.overlaps(a.start, a.end) or a.overlaps(b.start, b.end)


def _at_once(base: Skill, changes: Sequence[_Change]) -> Skill:
    """All changes at their places; several insertions at one place in the order of their numbers."""
    parts: list[str] = []
    at = 0
    # An insertion comes before a replacement that begins where it inserts.
    for change in sorted(changes, key=lambda c: (c.span.start, c.span.end, c.number)):
        parts += [base.text[at : change.span.start], change.text]
        at = change.span.end
    return Skill("".join(parts) + base.text[at:])
