"""Scoring a solution on all test cases: hard when all pass, soft the share that does.

The first case of an episode is known already; the others run side by side where the run's executor says. A case that
could not be measured makes the item missing, whatever the others say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from skillopt.agents.base import Attempt
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.core.shorten import shorten, shorten_middle
from skillopt.envs.fences import fenced
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.spreadsheetbench.compare import LONGEST_REPORT
from skillopt.envs.spreadsheetbench.dataloader import Case, cases_of
from skillopt.envs.spreadsheetbench.episode import NO_CASES, Bounds
from skillopt.envs.spreadsheetbench.solution import SOLUTION
from skillopt.envs.spreadsheetbench.work import CHECK
from skillopt.work.errors import WorkFailed
from skillopt.work.executor import Executor
from skillopt.work.unit import Needs, Work

VERSION = 1
NEEDS = Needs(cpu=1.0, memory_mb=512)
_SLACK_S = 180.0


def solution_of(attempt: Attempt) -> str:
    """The program that an attempt came to: of its episode, else the fenced block of its last message, else the file
    solution.py that an agent left, else the message as it is."""
    if attempt.episode is not None:
        return as_text(attempt.episode.info.get("code"))
    block = fenced(attempt.text)
    if block is not None:
        return block
    left = attempt.workspace.text(SOLUTION) if attempt.workspace is not None else ""
    return left or attempt.text.strip()


def first_of(attempt: Attempt) -> JsonObject | None:
    """What the first case said of the program; None where it was not tried."""
    first = attempt.episode.info.get("first") if attempt.episode is not None else None
    return as_object(first) if first is not None else None


async def score(item: Item, attempt: Attempt, bounds: Bounds, executor: Executor) -> Outcome:
    """See the module. Raises `WorkerLost`."""
    cases = cases_of(item)
    if not cases:
        return Missing(NO_CASES)
    code = solution_of(attempt)
    if not code.strip():
        return Scored(0.0, 0.0, fail_reason="empty-code-block: there is no program to run")
    first = first_of(attempt)
    known = [] if first is None else [first]
    if first is not None and _did_not_run(first) and len(cases) > 1:
        known = [first] * len(cases)  # what fails on its own test is not tried on the others
    rest = cases[len(known) :]
    verdicts = [*known, *await asyncio.gather(*(_checked(executor, bounds.payload(item, case, code)) for case in rest))]
    return outcome(cases, verdicts, code)


def outcome(cases: Sequence[Case], verdicts: Sequence[JsonObject], code: str) -> Outcome:
    """What the cases say together."""
    missing = next((as_text(v["missing"]) for v in verdicts if "missing" in v), "")
    if missing:
        return Missing(missing)
    faults = [as_text(v.get("fault")) for v in verdicts]
    failed = [(case, fault, v) for case, fault, v in zip(cases, faults, verdicts, strict=True) if fault]
    soft = (len(cases) - len(failed)) / len(cases)
    detail: dict[str, JsonValue] = {"cases": len(cases), "passed": len(cases) - len(failed)}
    if not failed:
        return Scored(1.0, 1.0, predicted=shorten(code, 200), detail=detail)
    blocks = [f"Case {c.number}: {f}\n{as_text(v.get('report')) or as_text(v.get('trace'))}" for c, f, v in failed]
    detail[FEEDBACK] = shorten_middle("\n\n".join(b.strip() for b in blocks), LONGEST_REPORT)
    reason = f"{failed[0][1]} (case {failed[0][0].number}; {detail['passed']} of {len(cases)} cases pass)"
    return Scored(0.0, soft, fail_reason=reason, predicted=shorten(code, 200), detail=detail)


def _did_not_run(verdict: JsonObject) -> bool:
    return as_text(verdict.get("fault")).startswith(("exec-error", "task-timeout", "output-not-found"))


async def _checked(executor: Executor, payload: JsonObject) -> JsonObject:
    seconds = float(str(payload["seconds"])) + _SLACK_S
    try:
        return await executor.run(Work(CHECK, payload, needs=NEEDS, deadline_s=seconds))
    except WorkFailed as error:
        return {"missing": f"unexpected: the check of a workbook failed: {error.kind}: {error.message}"}
