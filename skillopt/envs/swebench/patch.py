"""Unified diffs between the files of a repository, written and applied here: no git, no shell.

A repository is a mapping of relative path to text. `diff` writes what git would apply; `applied` takes such a patch
and is strict: a hunk must fit where it says, or within some lines of it, exactly.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"
_NOTHING = "/dev/null"


class PatchError(ValueError):
    """A patch that cannot be read, or does not fit."""


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What makes `after` of `before`, by path; blank where they are equal."""
    return "".join(
        _file_diff(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


def _file_diff(path: str, old: str | None, new: str | None) -> str:
    mode = "new file mode 100644\n" if old is None else "deleted file mode 100644\n" if new is None else ""
    names = (_NOTHING if old is None else f"a/{path}", _NOTHING if new is None else f"b/{path}")
    lines = difflib.unified_diff(_lines(old or ""), _lines(new or ""), *names)
    body = "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n{mode}{body}"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@dataclass
class _Hunk:
    start: int
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])


@dataclass
class _Change:
    old: str = ""
    new: str = ""
    hunks: list[_Hunk] = field(default_factory=list[_Hunk])


def applied(files: Mapping[str, str], patch: str) -> dict[str, str]:
    """The files with the patch on them. Raises `PatchError`."""
    result = dict(files)
    changes = _read(patch)
    if not changes:
        raise PatchError("it holds no change of a file")
    for change in changes:
        if change.new == _NOTHING:
            if change.old not in result:
                raise PatchError(f"it removes {change.old}, which does not exist")
            del result[change.old]
            continue
        if change.old != _NOTHING and change.old not in result:
            raise PatchError(f"it changes {change.old}, which does not exist")
        result[change.new] = _changed(result.get(change.old, ""), change)
    return result


def _changed(text: str, change: _Change) -> str:
    lines, moved = _lines(text), 0
    for hunk in change.hunks:
        at = _place(lines, hunk, max(0, hunk.start - 1 + moved) if hunk.old else hunk.start + moved)
        if at is None:
            raise PatchError(f"its hunk at line {hunk.start} does not fit {change.new}")
        lines[at : at + len(hunk.old)] = hunk.new
        moved = at + len(hunk.new) - len(hunk.old) - (hunk.start - 1 if hunk.old else hunk.start)
    return "".join(lines)


def _place(lines: Sequence[str], hunk: _Hunk, wanted: int) -> int | None:
    """Where the old lines stand, nearest to where the hunk says."""
    last = len(lines) - len(hunk.old)
    for away in range(max(wanted, last - wanted, 0) + 1):
        for at in (wanted - away, wanted + away):
            if 0 <= at <= last and list(lines[at : at + len(hunk.old)]) == hunk.old:
                return at
    return None


def _read(patch: str) -> list[_Change]:
    changes: list[_Change] = []
    lines = patch.split("\n")
    at = 0
    while at < len(lines):
        if lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            changes.append(_Change(_name(lines[at], "a/"), _name(lines[at + 1], "b/")))
            at += 2
        elif (head := _HUNK.match(lines[at])) and changes:
            at = _read_hunk(lines, at + 1, head, changes[-1])
        else:
            at += 1
    return changes


def _read_hunk(lines: Sequence[str], at: int, head: re.Match[str], change: _Change) -> int:
    hunk = _Hunk(int(head[1]))
    old, new = (int(head[n]) if head[n] is not None else 1 for n in (2, 4))
    while len(hunk.old) < old or len(hunk.new) < new:
        if at >= len(lines):
            raise PatchError(f"its hunk at line {hunk.start} of {change.new} is cut off")
        mark, rest = lines[at][:1] or " ", lines[at][1:]
        if mark not in " +-":
            raise PatchError(f"its hunk at line {hunk.start} of {change.new} has a line that begins with {mark!r}")
        ended = at + 1 < len(lines) and lines[at + 1].startswith("\\")
        text = rest if ended else f"{rest}\n"
        hunk.old += [text] if mark in " -" else []
        hunk.new += [text] if mark in " +" else []
        at += 2 if ended else 1
    change.hunks.append(hunk)
    return at


def _name(line: str, prefix: str) -> str:
    """The path of a `---` or `+++` line. Raises `PatchError` for one that leads out of the repository."""
    name = line[4:].split("\t")[0].strip().removeprefix(prefix)
    if name != _NOTHING and (PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or not name):
        raise PatchError(f"it names {name!r}, which leads out of the repository")
    return name
