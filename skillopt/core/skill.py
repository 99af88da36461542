"""The skill document: text, YAML header, protected regions, hash.

The text is the truth; header, regions and files are spans of it. A region is a marker pair at the document's end; the
header is `---` … `---` at the very top; files of the skill's package may follow (`core.package`). Header, regions and
what frames a file are read-only for edits (`core.editing.editor`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from skillopt.core.hashing import skill_hash
from skillopt.core.package import PackagedFile, packaged, skill_part

SLOW_UPDATE = ("<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->")
APPENDIX = ("<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->")
MARKERS = (*SLOW_UPDATE, *APPENDIX)

# A byte order mark before the header belongs to it. `[^\n]*\n` reads each line in one way only: a pattern that can read
# a CRLF in two takes exponential time on a header that is never closed.
_HEADER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True)
class Span:
    """Half-open character range `[start, end)` of the skill's text."""

    start: int
    end: int

    def overlaps(self, start: int, end: int) -> bool:
        """True when `[start, end)` shares a character with this span, or lies strictly inside it when empty."""
        if start == end:
            return self.start < start < self.end
        return start < self.end and self.start < end


@dataclass(frozen=True)
class Skill:
    """A skill document. Two skills with equal text are equal, whatever produced them."""

    text: str

    @cached_property
    def hash(self) -> str:
        """First 16 hex digits of SHA-256 of the UTF-8 text."""
        return skill_hash(self.text)

    @cached_property
    def header(self) -> Span | None:
        """The YAML header with its closing line, or None."""
        match = _HEADER.match(self.text)
        return Span(match.start(), match.end()) if match else None

    @cached_property
    def regions(self) -> tuple[Span, ...]:
        """Protected regions with their markers, in order of place. A start marker without an end protects to the end;
        an end marker without a start protects itself."""
        spans: list[Span] = []
        for start_marker, end_marker in (SLOW_UPDATE, APPENDIX):
            at = 0
            while (start := self.text.find(start_marker, at)) >= 0:
                end = self.text.find(end_marker, start)
                at = len(self.text) if end < 0 else end + len(end_marker)
                spans.append(Span(start, at))
            at = 0
            while (stray := self.text.find(end_marker, at)) >= 0:
                at = stray + len(end_marker)
                if not any(s.start <= stray < s.end for s in spans):
                    spans.append(Span(stray, at))
        return tuple(sorted(spans, key=lambda s: s.start))

    @cached_property
    def files(self) -> tuple[PackagedFile, ...]:
        """The files of the skill's package that may be edited, in order; none for a skill alone."""
        return packaged(self.text)

    @cached_property
    def frames(self) -> tuple[Span, ...]:
        """What stands between SKILL.md and the files' own text: marker lines, and heads that may not be edited."""
        if not self.files:
            return ()
        ends = (len(skill_part(self.text)), *(file.end for file in self.files))
        starts = (*(file.editable for file in self.files), len(self.text))
        return tuple(Span(end, start) for end, start in zip(ends, starts, strict=True))

    @cached_property
    def protected(self) -> tuple[Span, ...]:
        """Header, regions and frames of files: what no edit may touch."""
        return (*((self.header,) if self.header else ()), *self.regions, *self.frames)

    @property
    def is_blank(self) -> bool:
        """True when there is nothing for the target to read."""
        return not self.text.strip()
