"""What a model is asked about one draft, how its reply is read, and which tasks are kept.

The reply is checked by shape here; a label without an exact quotation is dropped, and a draft whose follow-ups are no
corrections after all is no pair. A check or rubric is kept only if it tells the good answer from the bad one: rules are
tried here, rubrics by the judge. Nothing that a model wrote becomes a key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from skillopt.core.errors import ReplyError
from skillopt.core.fencing import fenced
from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text
from skillopt.sleep.mining.tasks import Draft
from skillopt.sleep.redact import clean
from skillopt.sleep.task import MAX_INTENT, Check, Judge, TaskRecord, Tier

MinedLabel = Literal["correction", "acceptance", "new_request", "other"]
_LABELS: dict[str, MinedLabel] = {label: label for label in get_args(MinedLabel)}
MAX_POINTS, MAX_POINT, MAX_CHECKS = 4, 300, 4
_MAX_SHOWN = 2_000

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "labels": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "follow_up": {"type": "integer"},
                    "label": {"type": "string", "enum": list(_LABELS)},
                    "quote": {"type": "string"},
                },
                "required": ["follow_up", "label", "quote"],
                "additionalProperties": False,
            },
        },
        "intent": {"type": "string"},
        "rubric": {"type": "array", "items": {"type": "string"}},
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"op": {"type": "string"}, "arg": {}},
                "required": ["op", "arg"],
                "additionalProperties": False,
            },
        },
        "needs_tools": {"type": "boolean"},
        "needs_files": {"type": "boolean"},
    },
    "required": ["labels", "intent", "rubric", "checks", "needs_tools", "needs_files"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Mined:
    """What a model said about one draft."""

    intent: str
    rubric: tuple[str, ...]
    checks: tuple[Check, ...]
    needs_tools: bool
    needs_files: bool
    labels: tuple[tuple[int, MinedLabel], ...]
    """(number of the follow-up from 1, label), only those with an exact quotation."""


def prompt_values(draft: Draft, name: str) -> dict[str, str]:
    """The placeholders of `miner.md`; every text of a transcript is redacted, cut and fenced."""
    follow_ups = draft.request.follow_ups
    said = "\n".join(f"{n}: {clean(_line(f.turn.prompt), 400)}" for n, f in enumerate(follow_ups, start=1))
    task = draft.task
    request = "\n".join((task.intent, *task.context))
    return {
        "name": clean(_line(name or task.intent), 120),
        "request": fenced(clean(request, _MAX_SHOWN)),
        "bad": fenced(task.bad_answer or "(none: nothing was corrected)"),
        "follow_ups": fenced(said or "(none)"),
        "good": fenced(task.good_answer or "(none)"),
    }


def mined_of(reply: JsonObject, draft: Draft) -> Mined:
    """The reply by its shape. Raises `ReplyError` with the sentence that a second question shows."""
    intent = reply.get("intent")
    if not isinstance(intent, str) or not intent.strip():
        raise ReplyError("intent must be a text that is not empty")
    rubric = reply.get("rubric", [])
    if not isinstance(rubric, list) or not all(isinstance(point, str) for point in rubric):
        raise ReplyError("rubric must be a list of texts")
    flags = (reply.get("needs_tools"), reply.get("needs_files"))
    if not all(isinstance(flag, bool) for flag in flags):
        raise ReplyError("needs_tools and needs_files must be true or false")
    points = tuple(clean(_line(str(point)), MAX_POINT) for point in rubric if str(point).strip())
    return Mined(
        intent=clean(intent.strip(), MAX_INTENT),
        rubric=points[:MAX_POINTS],
        checks=tuple(_checks(reply.get("checks", [])))[:MAX_CHECKS],
        needs_tools=flags[0] is True,
        needs_files=flags[1] is True,
        labels=tuple(_labels(reply.get("labels", []), draft)),
    )


def still_a_pair(draft: Draft, mined: Mined) -> bool:
    """Whether the model, too, found a correction among the follow-ups that the words made one."""
    corrections = {n for n, follow in enumerate(draft.request.follow_ups, start=1) if follow.label == "negative"}
    return any(n in corrections and label == "correction" for n, label in mined.labels)


def task_of(draft: Draft, mined: Mined, *, problem_of: Callable[[Check], str]) -> TaskRecord:
    """The task with what the model added: a rubric first, checks beside it or alone, else nothing to score by.

    `problem_of` says what is wrong with a check; such a check is left out.
    """
    checks = tuple(check for check in mined.checks if not problem_of(check))
    task = replace(draft.task, intent=mined.intent, tier=_tier(mined))
    if mined.rubric:
        return replace(
            task, reference_kind="rubric", reference="\n".join(mined.rubric), judge=Judge(checks) if checks else None
        )
    if checks:
        return replace(task, reference_kind="rule", judge=Judge(checks))
    return replace(task, reference_kind="none")


def rules_that_separate(task: TaskRecord, passes: Callable[[Check, str], bool]) -> tuple[Check, ...]:
    """The task's checks that the good answer passes and the bad one fails; without a bad answer, those it passes."""
    if task.judge is None or not task.good_answer:
        return ()
    kept: list[Check] = []
    for check in task.judge.checks:
        if passes(check, task.good_answer) and not (task.bad_answer and passes(check, task.bad_answer)):
            kept.append(check)
    return tuple(kept)


def _tier(mined: Mined) -> Tier:
    if mined.needs_files:
        return "worktree"
    return "tools" if mined.needs_tools else "text"


def _checks(value: JsonValue) -> Sequence[Check]:
    if not isinstance(value, list):
        raise ReplyError("checks must be a list of {op, arg}")
    found: list[Check] = []
    for entry in value:
        op = as_object(entry).get("op")
        if not isinstance(op, str) or not op:
            raise ReplyError("every check needs an op")
        found.append(Check(op, as_object(entry).get("arg")))
    return found


def _labels(value: JsonValue, draft: Draft) -> Sequence[tuple[int, MinedLabel]]:
    if not isinstance(value, list):
        raise ReplyError("labels must be a list of {follow_up, label, quote}")
    found: dict[int, MinedLabel] = {}
    for entry in value:
        said = as_object(entry)
        number, label = said.get("follow_up"), _LABELS.get(as_text(said.get("label")))
        if not isinstance(number, int) or isinstance(number, bool) or label is None:
            raise ReplyError("every label needs follow_up (a number) and label (one of " + ", ".join(_LABELS) + ")")
        if 1 <= number <= len(draft.request.follow_ups):
            shown = _line(draft.request.follow_ups[number - 1].turn.prompt).casefold()
            quote = _line(as_text(said.get("quote"))).casefold()
            if quote and quote in shown:
                found.setdefault(number, label)
    return sorted(found.items())


def _line(text: str) -> str:
    return " ".join(text.split())
