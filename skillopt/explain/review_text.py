"""What a person's decisions about changes make of a text, line by line. Pure; `explain.review` measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from skillopt.core.editing.origins import Line
from skillopt.core.errors import DataError
from skillopt.core.skill import MARKERS
from skillopt.explain.cause import Cause
from skillopt.records.beside.review import EditDecision


def check(decisions: Sequence[EditDecision], known: Collection[str]) -> None:
    """Raises `DataError` for a decision about a change without lines in the text, or with a text that may not be."""
    for each in decisions:
        if each.origin not in known:
            raise DataError(
                f"{each.origin}: no change of this skill is called that", hint=f"there are {', '.join(known)}"
            )
        _check(each)


def _check(each: EditDecision) -> None:
    if each.choice != "change":
        return
    if not each.text.strip():
        raise DataError(f"{each.origin}: the new text is empty", hint="refuse the change to take it out")
    if any(marker in each.text for marker in MARKERS):
        raise DataError(f"{each.origin}: the new text holds the marker of a protected region", hint="leave it out")
    if any(not c.isprintable() and c not in "\n\t" for c in each.text.replace("\r\n", "\n")):
        raise DataError(f"{each.origin}: the new text holds a control character", hint="leave it out")


def review_cause(was: Cause, each: EditDecision) -> Cause:
    """What the new lines of a changed edit come from."""
    who = f" by {each.by}" if each.by else ""
    return Cause(f"review/{was.name}", "review", f"{was.label}, changed in review{who}", "review", was.step, was.epoch)


def replaced(lines: Sequence[Line], each: EditDecision, name: str) -> tuple[Line, ...]:
    """The new lines where the first old one stood; blank ones around stay."""
    out: list[Line] = []
    put = False
    new = each.text.replace("\r\n", "\n").rstrip("\n").split("\n")
    for line in lines:
        if line.origin != each.origin or not line.text.strip() or line.text.strip() in MARKERS:
            out.append(line)
        elif not put:
            put = True
            end = "\r" if line.text.endswith("\r") else ""
            out += [Line(text + end, name, line.id if not n else -1, (each.origin,)) for n, text in enumerate(new)]
    return tuple(out)


def named(decisions: Sequence[EditDecision]) -> Mapping[str, EditDecision]:
    """Decisions by the change that they are about; the last one about it holds."""
    return {each.origin: each for each in decisions}
