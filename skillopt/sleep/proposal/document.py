"""The learned block of a document, edited without touching one byte that is not the companion's.

A document is bytes: whatever its encoding, line ends, BOM or missing last newline, what stands outside the block comes
back as it was, and so does every line inside the block that the ledger does not know as its own. There is exactly one
block or none; anything else (a stray, doubled or reversed marker, one in a code fence) is refused with the line
numbers and never repaired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.core.errors import DataError
from skillopt.sleep.proposal.rules import END, MARKER, START, Dropped, RuleEdit, rule_id

_BULLET = "- "
HEADER = ("## Learned preferences", "", "Maintained by SkillOpt-Sleep; review with `skillopt-sleep status`.", "")
_FENCE = re.compile(r" {0,3}(`{3,}(?![^\n]*`)|~{3,})")
_BOM = "\ufeff"


class DocumentRefused(DataError):
    """The markers of a document are not in order. `lines` are the places, counted from 1."""

    def __init__(self, name: str, reason: str, lines: Sequence[int]) -> None:
        places = ", ".join(map(str, lines))
        super().__init__(f"{name}: {reason} (line {places})", hint="put the markers in order by hand")
        self.lines = tuple(lines)


@dataclass(frozen=True)
class BlockLine:
    """A bullet of the block. `rule_id` is "" for a line that is the user's."""

    text: str
    rule_id: str = ""

    @property
    def origin(self) -> str:
        """`learned` or `user`."""
        return "learned" if self.rule_id else "user"


class Document:
    """One document's bytes with the place of its block. Immutable; `edited` returns another one."""

    def __init__(self, data: bytes, name: str = "document") -> None:
        """Raises `DocumentRefused`."""
        self.data, self.name = data, name
        text = data.decode("utf-8", "surrogateescape")
        self._lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._block = _find_block(self._lines, name)

    @property
    def has_block(self) -> bool:
        """Whether the document has a learned block."""
        return self._block is not None

    def lines(self, known: Mapping[str, str]) -> list[BlockLine]:
        """The block's bullets. `known` are the ledger's rules of this document, text by id."""
        if self._block is None:
            return []
        start, end = self._block
        inside = (_bare(line) for line in self._lines[start + 1 : end])
        return [
            BlockLine(line.removeprefix(_BULLET), _known_id(line, known))
            for line in inside
            if line.startswith(_BULLET) or _known_id(line, known)
        ]

    def block_size(self) -> int:
        """Characters between the markers."""
        return sum(map(len, self._lines[self._block[0] + 1 : self._block[1]])) if self._block else 0

    def edited(
        self, edits: Sequence[RuleEdit], known: Mapping[str, str], *, head: str = ""
    ) -> tuple[Document, list[RuleEdit], list[Dropped]]:
        """The document after the edits, those that were applied, and those that found no line.

        `head` is put before the block of a document that is still empty (a new skill's front matter).
        """
        lines, block = list(self._lines), self._block
        applied: list[RuleEdit] = []
        unmatched: list[Dropped] = []
        for edit in edits:
            if edit.op == "add":
                lines, block = self._added(lines, block, edit.text, head)
                applied.append(edit)
                continue
            at = None if block is None else _place(lines, block, edit.rule_id, known)
            if at is None or block is None:
                unmatched.append(Dropped(edit, f"unmatched: rule {edit.rule_id} has no line in {self.name}"))
            elif edit.op == "delete":
                del lines[at]
                block = (block[0], block[1] - 1)
                applied.append(edit)
            else:
                lines[at] = f"{_BULLET}{edit.text}{_ending(lines[at])}"
                applied.append(edit)
        data = "".join(lines).encode("utf-8", "surrogateescape")
        return (Document(data, self.name) if data != self.data else self), applied, unmatched

    def is_bare(self, head: str = "") -> bool:
        """True when nothing is in it but what the companion writes around its rules."""
        text = self.data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        if text.startswith("---\n") and not head:
            text = re.sub(r"\A---\n.*?\n---\n\n?", "", text, count=1, flags=re.DOTALL)
        return text in ("", head, head + "\n".join((START, *HEADER, END)) + "\n")

    def _added(
        self, lines: list[str], block: tuple[int, int] | None, text: str, head: str
    ) -> tuple[list[str], tuple[int, int]]:
        if block is not None:
            # Before the end marker: a line of the user behind a rule may continue it, and must stay behind it.
            ending = _ending(lines[block[0]])
            lines.insert(block[1], f"{_BULLET}{text}{ending}")
            return lines, (block[0], block[1] + 1)
        ending = next((_ending(line) for line in lines if _ending(line)), "\n")
        if not lines or (len(lines) == 1 and lines[0] == _BOM):
            lines += re.findall(r"[^\n]*\n|[^\n]+", head)
        else:
            if not _ending(lines[-1]):
                lines.append(ending)
            if _bare(lines[-1]):
                lines.append(ending)
        lines = re.findall(r"[^\n]*\n|[^\n]+", "".join(lines))
        start = len(lines)
        lines += [line + ending for line in (START, *HEADER, _BULLET + text, END)]
        return lines, (start, len(lines) - 1)


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r").removeprefix(_BOM)


def _ending(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""


def _known_id(line: str, known: Mapping[str, str]) -> str:
    """The id of a line that the ledger knows, letter for letter."""
    if not line.startswith(_BULLET):
        return ""
    text = line[len(_BULLET) :]
    own = rule_id(text)
    return own if known.get(own) == text else ""


def _place(lines: Sequence[str], block: tuple[int, int], wanted: str, known: Mapping[str, str]) -> int | None:
    return next((n for n in range(block[0] + 1, block[1]) if _known_id(_bare(lines[n]), known) == wanted), None)


def _find_block(lines: Sequence[str], name: str) -> tuple[int, int] | None:
    """Indices of the two marker lines. Raises `DocumentRefused`."""
    starts: list[int] = []
    ends: list[int] = []
    fence = ""
    for n, line in enumerate(lines):
        bare = _bare(line)
        if MARKER in bare:
            if fence:
                raise DocumentRefused(name, "a marker stands in a code fence", [n + 1])
            if bare not in (START, END):
                raise DocumentRefused(name, "a marker does not stand alone on its line", [n + 1])
            (starts if bare == START else ends).append(n)
        elif found := _FENCE.match(bare):
            fence = _next_fence(fence, found[1], bare)
    if not starts and not ends:
        return None
    places = sorted(n + 1 for n in (*starts, *ends))
    if len(starts) != 1 or len(ends) != 1:
        raise DocumentRefused(name, f"{len(starts)} start and {len(ends)} end markers, one of each is expected", places)
    if ends[0] < starts[0]:
        raise DocumentRefused(name, "the end marker stands before the start marker", places)
    return starts[0], ends[0]


def _next_fence(fence: str, mark: str, line: str) -> str:
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(mark[0])
    return "" if closes else fence


def front_matter(name: str, description: str) -> str:
    """The head of a new skill file. The description is one line of plain words.

    >>> front_matter("learned", "Use it for: changelogs").splitlines()[2]
    'description: "Use it for: changelogs"'
    """
    line = " ".join(description.split()).replace("\\", "/").replace('"', "'")
    return f'---\nname: {name}\ndescription: "{line}"\n---\n\n'
