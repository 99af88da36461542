"""Taking the answer out of a reply. Every way returns text, never raises; an empty answer is an answer.

`answer_tag`: the last `<answer>` pair (any case, across lines), else the last non-empty line. `last_line`: the last
non-empty line. `whole`: the reply. `boxed`: the last `\\boxed{…}` with balanced braces, else the last line. `json`:
the one JSON value of the reply, fenced or bare; where there is none or more than one, the reply as it is (the scorer
refuses it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal, get_args

AnswerFormat = Literal["answer_tag", "last_line", "whole", "boxed", "json"]
ANSWER_FORMATS: tuple[str, ...] = get_args(AnswerFormat)

_OPEN = re.compile(r"<answer>", re.IGNORECASE)
_CLOSE = re.compile(r"</answer>", re.IGNORECASE)
_INFO = re.compile(r"[\w-]*")
_BRACE = re.compile(r"[{}]")
_BRACKET = re.compile(r"[{\[]")
# A reply that repeats an open bracket for ever must not hold up everybody else.
_MOST_FAILURES = 500


def extract_answer(text: str, how: AnswerFormat) -> str:
    """The answer in `text`, stripped."""
    return _WAYS[how](text)


def tagged(text: str) -> str | None:
    """Content of the last complete answer tag pair, stripped; None without one."""
    found: str | None = None
    start: int | None = None
    marks = sorted(
        [(m.start(), m.end(), True) for m in _OPEN.finditer(text)]
        + [(m.start(), m.end(), False) for m in _CLOSE.finditer(text)]
    )
    for begin, end, opens in marks:
        if opens:
            start = end
        elif start is not None:
            found, start = text[start:begin].strip(), None
    return found


def last_line(text: str) -> str:
    """The last line that is not blank, stripped; empty for a blank text."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def boxed(text: str) -> str | None:
    """Content of the `\boxed{…}` that opens last among those whose braces balance; None without one. One pass."""
    opened: list[int] = []
    best: tuple[int, int] | None = None
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            start = opened.pop()
            if text.endswith(r"\boxed", 0, start) and (best is None or start > best[0]):
                best = (start, brace.start())
    return None if best is None else text[best[0] + 1 : best[1]].strip()


def _fenced(text: str) -> Iterator[str]:
    """What stands between a line that opens a fence and the next one that closes it."""
    inside: list[str] | None = None
    for line in text.split("\n"):
        bare = line.strip(" \t")
        if inside is None:
            if bare.startswith("```") and _INFO.fullmatch(bare[3:].strip(" \t")):
                inside = []
        elif bare == "```":
            yield "\n".join(inside)
            inside = None
        else:
            inside.append(line)


def json_text(text: str) -> str | None:
    """The one JSON object or array of a reply; None when there is none or several."""
    fences = list(_fenced(text))
    if fences:
        return fences[0].strip() if len(fences) == 1 else None
    decoder = json.JSONDecoder()
    found: str | None = None
    at = failures = 0
    while failures < _MOST_FAILURES and (match := _BRACKET.search(text, at)) is not None:
        try:
            _, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            at = match.start() + 1
            failures += 1
            continue
        if found is not None:
            return None
        found, at = text[match.start() : end], end
    return found


def _tag_or_line(text: str) -> str:
    found = tagged(text)
    return last_line(text) if found is None else found


def _boxed_or_line(text: str) -> str:
    found = boxed(text)
    return last_line(text) if found is None else found


def _json_or_whole(text: str) -> str:
    found = json_text(text)
    return text.strip() if found is None else found


def _whole(text: str) -> str:
    return text.strip()


_WAYS: dict[str, Callable[[str], str]] = {
    "answer_tag": _tag_or_line,
    "last_line": last_line,
    "whole": _whole,
    "boxed": _boxed_or_line,
    "json": _json_or_whole,
}
