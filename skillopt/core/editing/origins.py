"""Origins of lines: which change put each line of a text there, followed from one text to the next.

A line keeps its origin while its words stay, whatever is inserted or removed around it and however white space at its
end changes; a line that a change takes out and puts back elsewhere has moved and keeps it too. A line whose words
change belongs to the change, and remembers whose words it replaced (`earlier`). Lines end at LF only, so a CR before it
is part of the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

OriginOf = Callable[[int, str], str]
"""(line of the new text, from 0; its words) → the change that brought it."""

_ALIKE = 0.5
"""Two lines this similar are one line with other words."""
_MAX_PAIRS = 10_000
"""Pairs of lines compared within one hunk; in a larger one (a rewritten book) nobody's earlier words are looked for."""


@dataclass(frozen=True)
class Line:
    """One line. `id` stays with it from text to text; `earlier` names the changes whose words it replaced, newest
    first."""

    text: str
    origin: str
    id: int
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hunk:
    """A place where a change took lines out, put lines in (`added`: their ids), or both. `after` is the id of the line
    before it, None at the top."""

    removed: tuple[Line, ...]
    added: tuple[int, ...]
    after: int | None


def lines_of(text: str) -> list[str]:
    """Lines without their LF; the empty text has none, and a final LF opens no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def text_of(lines: Sequence[Line], *, like: str) -> str:
    """Lines put together again, ending as `like` ends."""
    text = "\n".join(line.text for line in lines)
    return text + "\n" if lines and (like.endswith("\n") or not lines[-1].text) else text


def first_lines(text: str, origin: str, ids: Iterator[int]) -> tuple[Line, ...]:
    """All lines of a text with one origin."""
    return tuple(Line(line, origin, next(ids)) for line in lines_of(text))


def carry(
    before: Sequence[Line], after: str, origin_of: OriginOf, ids: Iterator[int], *, gone: Sequence[Line] = ()
) -> tuple[tuple[Line, ...], tuple[Hunk, ...]]:
    """The lines of `after`, made from `before`, and the hunks between the two.

    `ids` gives every new line an id that no line of the lineage has. `gone` are lines that an earlier part of the same
    change took out: one that comes back keeps its origin.
    """
    new = lines_of(after)
    old_keys, new_keys = [_words(line.text) for line in before], [_words(line) for line in new]
    head, tail = _shared_ends(old_keys, new_keys)
    matcher = SequenceMatcher(None, old_keys[head : len(before) - tail], new_keys[head : len(new) - tail], False)
    middle = [(tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in matcher.get_opcodes()]
    ends = len(before) - tail, len(before), len(new) - tail, len(new)
    opcodes = [("equal", 0, head, 0, head), *middle, ("equal", *ends)]
    pool = [line for tag, i, j, _, _ in opcodes if tag != "equal" for line in before[i:j]]
    pool = [line for line in (*pool, *gone) if line.text.strip()]
    made: list[Line] = []
    hunks: list[Hunk] = []
    for tag, i, j, k, m in opcodes:
        if tag == "equal":
            made += [replace(line, text=text) for line, text in zip(before[i:j], new[k:m], strict=True)]
            continue
        removed, above = tuple(before[i:j]), made[-1].id if made else None
        for at in range(k, m):
            text = new[at]
            moved = next((line for line in pool if _words(line.text) == _words(text)), None)
            if moved is None:
                made.append(Line(text, origin_of(at, text), next(ids), _earlier(text, removed, len(removed) * (m - k))))
            else:
                pool.remove(moved)
                made.append(replace(moved, text=text))
        hunks.append(Hunk(removed, tuple(line.id for line in made[len(made) - (m - k) :]) if m > k else (), above))
    return tuple(made), tuple(hunks)


def undo(lines: Sequence[Line], hunks: Sequence[Hunk], origin: str, *, keep: Sequence[str] = ()) -> tuple[Line, ...]:
    """`lines` as if the change `origin`, which made `hunks`, had not been made: its lines go, and what they replaced
    comes back. What later changes did stays, and so do lines whose text is in `keep` (markers of protected regions)."""
    present = {line.id for line in lines}
    place = {id_: n for n, hunk in enumerate(hunks) for id_ in hunk.added}
    above: dict[int | None, list[int]] = {}
    for n, hunk in enumerate(hunks):
        if not hunk.added:
            above.setdefault(hunk.after, []).append(n)
    out: list[Line] = []
    restored: set[int] = set()

    def restore(n: int) -> None:
        if n not in restored:
            restored.add(n)
            out.extend(old for old in hunks[n].removed if old.id not in present)

    for n in above.get(None, ()):
        restore(n)
    for line in lines:
        if line.origin == origin and line.text.strip() not in keep:
            if line.id in place:
                restore(place[line.id])
        else:
            out.append(line)
        for n in above.get(line.id, ()):
            restore(n)
    return tuple(out)


def _words(line: str) -> str:
    return line.rstrip()


def _shared_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines at both ends are the same. The head first, because edits add after what is there."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    tail = next((n for n in range(shorter - head) if old[-1 - n] != new[-1 - n]), shorter - head)
    return head, tail


def _earlier(text: str, removed: Sequence[Line], pairs: int) -> tuple[str, ...]:
    """Whose words a changed line replaced, newest first; nothing when no removed line is like it."""
    if not text.strip() or not 0 < pairs <= _MAX_PAIRS:
        return ()
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(text)
    best, found = _ALIKE, None
    for line in removed:
        matcher.set_seq1(line.text)
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best and (r := matcher.ratio()) >= best:
            best, found = r, line
    return (found.origin, *found.earlier) if found is not None else ()
