"""The score of a reply to a task: hard (right or wrong) and soft (how far), or `Missing`.

A rubric's judge sees request, rubric and reply as data and says of each point whether it is met. What it says must
agree with itself; a verdict that cannot be read or contradicts its points is missing, never 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillopt.core.errors import ReplyError
from skillopt.core.fencing import fenced
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.core.ngrams import words_of
from skillopt.core.outcome import Missing, Scored
from skillopt.sleep.calls import Calls
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.scoring.checks import CheckTimeout, passes
from skillopt.sleep.task import TaskRecord

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "met": {"type": "boolean"}, "why": {"type": "string"}},
                "required": ["id", "met", "why"],
                "additionalProperties": False,
            },
        },
        "pass": {"type": "boolean"},
    },
    "required": ["points", "pass"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Judging:
    """Who judges, with which words."""

    calls: Calls
    prompts: Prompts

    async def score(self, task: TaskRecord, reply: str, *, phase: str, repeat: int) -> Scored | Missing:
        """The outcome of one reply."""
        if task.reference_kind == "rubric":
            judged = await self._by_rubric(task, reply, phase, repeat)
            if task.judge is None or isinstance(judged, Missing):
                return judged
            return both(judged, by_checks(task, reply))
        if task.reference_kind == "rule":
            return by_checks(task, reply)
        if task.reference_kind == "exact":
            return by_reference(task.reference, reply)
        return Missing("the task has nothing to be scored by")

    async def _by_rubric(self, task: TaskRecord, reply: str, phase: str, repeat: int) -> Scored | Missing:
        points = rubric_points(task.reference)
        shown = "\n".join(f"p{n}: {point}" for n, point in enumerate(points, start=1))
        prompt = self.prompts.filled(
            "judge",
            {"rubric": fenced(shown), "request": fenced(task.intent), "reply": fenced(reply or "(an empty reply)")},
        )

        def read(value: dict[str, JsonValue]) -> Scored:
            return verdict(value, points)

        return await self.calls.json("optimizer", f"judge:{phase}", prompt, read, repeat=repeat, schema=SCHEMA)


def rubric_points(rubric: str) -> list[str]:
    """One point a line; list marks are taken off.

    >>> rubric_points("- breaking first\\n2. short")
    ['breaking first', 'short']
    """
    lines = [re.sub(r"^\s*(?:[-*]|\d+[.)])\s+", "", line).strip() for line in rubric.splitlines()]
    return [line for line in lines if line]


def verdict(value: dict[str, JsonValue], points: list[str]) -> Scored:
    """A judge's reply as a score. Raises `ReplyError`."""
    met: dict[str, bool] = {}
    whys: list[str] = []
    for entry in map(as_object, as_array(value.get("points"))):
        said = entry.get("met")
        if not isinstance(said, bool):
            raise ReplyError('"met" must be true or false')
        met[as_text(entry.get("id"))] = said
        if not said:
            whys.append(as_text(entry.get("why")))
    wanted = {f"p{n}" for n in range(1, len(points) + 1)}
    if set(met) != wanted or len(as_array(value.get("points"))) != len(wanted):
        raise ReplyError(f"the points must be exactly {', '.join(sorted(wanted))}")
    passed = value.get("pass")
    if not isinstance(passed, bool) or passed != all(met.values()):
        raise ReplyError('"pass" must be true exactly when every point is met')
    return Scored(float(passed), sum(met.values()) / len(met), "; ".join(whys)[:300])


def both(judged: Scored, checked: Scored | Missing) -> Scored | Missing:
    """A rubric with checks beside it: right when both say so."""
    if isinstance(checked, Missing):
        return checked
    why = "; ".join(filter(None, (judged.fail_reason, checked.fail_reason)))
    return Scored(min(judged.hard, checked.hard), (judged.soft + checked.soft) / 2, why)


def by_checks(task: TaskRecord, reply: str) -> Scored | Missing:
    """All checks for hard, their share for soft."""
    checks = task.judge.checks if task.judge is not None else ()
    if not checks:
        return Missing("the task has no checks")
    try:
        met = [(check, passes(check, reply)) for check in checks]
    except CheckTimeout as fault:
        return Missing(str(fault))
    failed = [f"{check.op} {check.arg!r}" for check, fine in met if not fine]
    return Scored(float(not failed), 1 - len(failed) / len(met), "; ".join(failed)[:300])


def by_reference(reference: str, reply: str) -> Scored:
    """Equal after normalising, or the reference as whole words in the reply.

    >>> by_reference("4", "It is 14.").hard, by_reference("4", "It is 4.").hard
    (0.0, 1.0)
    """
    wanted, said = words_of(reference), words_of(reply)
    n = len(wanted)
    found = n > 0 and any(said[i : i + n] == wanted for i in range(len(said) - n + 1))
    share = sum(word in said for word in wanted) / n if n else 0.0
    return Scored(float(found), max(float(found), share), "" if found else f"{reference!r} is not in the reply")
