"""The anchor of an edit: the one place of the body where its target stands.

Found exactly, or else with its whitespace normalised; every occurrence counts over its full span, overlapping ones
too. What touches header or protected regions is no place. Without a match the nearest line is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from skillopt.core.package import skill_part
from skillopt.core.skill import Skill, Span

_NEAREST_MIN_RATIO = 0.4


_NEAREST_MAX_LINES = 2_000


_NEAREST_MAX_CHARS = 300


NOTE_CHARS = 160


@dataclass(frozen=True)
class Match:
    """Where an anchor stands in the body, or why it cannot be used: `missing`, `ambiguous` or `protected`."""

    span: Span | None
    problem: str = ""
    note: str = ""


def find_anchor(skill: Skill, target: str) -> Match:
    """The one place in the body where `target` stands, exactly or with its whitespace normalised."""
    if not target.strip():
        return Match(None, "missing", "the target is empty")
    spans = list(_exact(skill.text, target))
    note = ""
    if not spans:
        whole = len(skill_part(skill.text)) if skill.files else len(skill.text)
        spans = [span for span in _normalised(skill.text, target) if span.start < whole]
        note = "matched with whitespace normalised"
    if not spans:
        return Match(None, "missing", _nearest(skill, target))
    body = [span for span in spans if not any(p.overlaps(span.start, span.end) for p in skill.protected)]
    if not body:
        return Match(None, "protected", "the target touches the header or a protected region")
    if len(body) > 1:
        return Match(None, "ambiguous", f"{len(body)} matches; quote a longer target that occurs once")
    return Match(body[0], note=note)


def _exact(text: str, target: str) -> Iterator[Span]:
    at = text.find(target)
    while at >= 0:
        yield Span(at, at + len(target))
        at = text.find(target, at + 1)


def _normalised(text: str, target: str) -> Iterator[Span]:
    """Matches where any run of white space stands for any other; space at the target's ends asks for a word's end."""
    pattern = r"\s+".join(map(re.escape, target.split()))
    pattern = (r"(?<!\S)" if target[0].isspace() else "") + pattern + (r"(?!\S)" if target[-1].isspace() else "")
    compiled = re.compile(pattern)
    match = compiled.search(text)
    while match:
        yield Span(match.start(), match.end())
        match = compiled.search(text, match.start() + 1)


def _nearest(skill: Skill, target: str) -> str:
    """What stands nearest to an unmatched anchor, for the report and the next step's optimizer."""
    wanted = max((line.strip() for line in target.splitlines()), key=len, default="")[:_NEAREST_MAX_CHARS]
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, best_at, best_line = _NEAREST_MIN_RATIO, 0, ""
    for number, line in enumerate(skill.text.split("\n")[:_NEAREST_MAX_LINES], start=1):
        matcher.set_seq1(line.strip()[:_NEAREST_MAX_CHARS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, best_at, best_line = ratio, number, line.strip()
    if not best_at:
        return "not found; no line of the skill is similar"
    return f"not found; nearest is line {best_at}: {best_line[:NOTE_CHARS]!r}"
