"""Literal conditions on a reply. An operation that is not in the table is an error, never a pass.

`section_*` and `*_chars` look at the shape only; a judge made of nothing else is flagged when tasks are read.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from skillopt.core.json_types import JsonValue
from skillopt.sleep.task import Check

SHAPE_OPS = frozenset({"section_present", "section_contains", "max_chars", "min_chars"})
REGEX_LIMIT_S = 0.1
_TOOL = re.compile(r"[a-z0-9_-]{1,64}")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BOLD = re.compile(r"\s*(?:\*\*|__)(.+?)(?:\*\*|__)\s*:?\s*$")
_REFUSAL = re.compile(
    r"(?:i(?:'m| am) (?:sorry|unable|not able)|sorry,? but i|i (?:can(?:not|'t)|won't|will not|do not have|don't have)"
    r"|as an ai|unfortunately,? i (?:can|am))\b"
)
_REFUSAL_UNDER = 600


class CheckTimeout(Exception):
    """A regex took longer than its limit: the check says nothing about the reply."""


def problem_of(check: Check) -> str:
    """Why a check cannot work; blank when it can.

    >>> problem_of(Check("regex", "("))
    'the regex does not compile: missing ), unterminated subpattern at position 0'
    """
    if check.op not in OPS and check.op != "tool_called":
        return f"unknown op {check.op!r}; there are {', '.join(sorted((*OPS, 'tool_called')))}"
    if check.op == "no_refusal":
        return ""
    if check.op in ("max_chars", "min_chars"):
        fine = isinstance(check.arg, int) and not isinstance(check.arg, bool) and check.arg >= 0
        return "" if fine else f"{check.op} needs a whole number from 0, not {check.arg!r}"
    if check.op == "section_contains":
        return "" if len(_texts(check.arg)) == 2 else "section_contains needs a list of a heading and a text"
    if not isinstance(check.arg, str) or not check.arg.strip():
        return f"{check.op} needs a text"
    if check.op == "tool_called":
        return "" if _TOOL.fullmatch(check.arg) else f"{check.arg!r} is no name of a tool"
    if check.op == "regex":
        try:
            re.compile(check.arg)
        except re.error as fault:
            return f"the regex does not compile: {fault}"
    return ""


def passes(check: Check, reply: str) -> bool:
    """Whether a reply meets a check. Raises `CheckTimeout`, and `ValueError` for a check with a problem."""
    if problem := problem_of(check):
        raise ValueError(problem)
    if check.op == "tool_called":
        raise ValueError("tool_called needs the tools tier")
    return OPS[check.op](check.arg, reply)


def _texts(arg: JsonValue) -> list[str]:
    return [part for part in arg if isinstance(part, str) and part.strip()] if isinstance(arg, (list, tuple)) else []


def _heading(line: str) -> str:
    found = _HEADING.match(line) or _BOLD.match(line)
    name = found[1] if found else line.strip().rpartition(":")[0] if line.strip().endswith(":") else ""
    return name.strip().strip("*_: ").casefold()


def _section_present(arg: JsonValue, reply: str) -> bool:
    wanted = str(arg).strip().casefold()
    label = re.compile(rf"\s*(?:\*\*)?{re.escape(wanted)}(?:\*\*)?\s*:", re.IGNORECASE)
    return any(_heading(line) == wanted or label.match(line) for line in reply.splitlines())


def _section_contains(arg: JsonValue, reply: str) -> bool:
    heading, text = (part.casefold() for part in _texts(arg))
    inside = False
    for line in reply.splitlines():
        found = _HEADING.match(line)
        if found:
            inside = found[1].strip().casefold() == heading.strip()
        elif inside and text in line.casefold():
            return True
    return False


def _regex(arg: JsonValue, reply: str) -> bool:
    with _limited(REGEX_LIMIT_S):
        return re.search(str(arg), reply) is not None


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    """End the work after so long, where the system has timers and this is the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise CheckTimeout(f"a regex took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _no_refusal(arg: JsonValue, reply: str) -> bool:
    del arg
    plain = re.sub(r"[*_`#>]", "", reply).strip().replace("\u2019", "'").casefold()
    return bool(plain) and not (len(plain) < _REFUSAL_UNDER and _REFUSAL.match(plain))


OPS: Mapping[str, Callable[[JsonValue, str], bool]] = {
    "section_present": _section_present,
    "section_contains": _section_contains,
    "regex": _regex,
    "max_chars": lambda arg, reply: isinstance(arg, int) and len(reply) <= arg,
    "min_chars": lambda arg, reply: isinstance(arg, int) and len(reply) >= arg,
    "contains": lambda arg, reply: str(arg).casefold() in reply.casefold(),
    "not_contains": lambda arg, reply: str(arg).casefold() not in reply.casefold(),
    "no_refusal": _no_refusal,
}


def only_shape(checks: Sequence[Check]) -> bool:
    """Whether a judge looks at nothing but the shape of a reply."""
    return bool(checks) and all(check.op in SHAPE_OPS for check in checks)
