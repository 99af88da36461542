"""Whose a line is that no replayed edit explains: the edit whose content holds it, else the owner of its place.

Places are the protected regions and the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt.core.editing.edit import Edit
from skillopt.core.editing.origins import lines_of
from skillopt.core.skill import SLOW_UPDATE, Skill
from skillopt.explain.cause import (
    Cause,
    Kind,
)


def owner_of(line: str, edits: Sequence[tuple[Edit, Cause]]) -> Cause | None:
    """The edit whose content has this line, whole or as a part."""
    words = line.strip()
    if not words:
        return None
    for edit, cause in edits:
        if words in [content.strip() for content in lines_of(edit.content or "")]:
            return cause
    return next((cause for edit, cause in edits if (c := (edit.content or "").strip()) and c in words), None)


def places_of(text: Skill, *, rewritten: bool) -> Iterator[Kind]:
    """For each line, who may change the place where it stands."""
    regions = [(span, text.text.startswith(SLOW_UPDATE, span.start)) for span in text.regions]
    at = 0
    for line in lines_of(text.text):
        slow = next((slow for span, slow in regions if span.start <= at < span.end), None)
        at += len(line) + 1
        if slow is None:
            yield "rewrite" if rewritten else "unrecorded"
        else:
            yield "slow_update" if slow else "appendix_note"
