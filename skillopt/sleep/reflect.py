"""Reflection: from what failed in training to a few edits of one document.

The optimizer sees the whole current document, failures and contrast pairs of train tasks, the person's preferences, and
what was turned down before. Held-out texts never come here: the caller has none to give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.core.errors import ReplyError
from skillopt.core.fencing import fenced
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.core.outcome import Missing, Scored
from skillopt.core.shorten import shorten_middle
from skillopt.sleep.calls import Calls
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.proposal.rules import OPS, Op, RuleEdit
from skillopt.sleep.scoring.replay import Reply
from skillopt.sleep.task import TaskRecord

MOST_FAILURES, MOST_CONTRASTS = 8, 6
_SHOWN = 1_500
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": list(OPS)},
                    "rule_id": {"type": "string"},
                    "text": {"type": "string"},
                    "evidence": {"type": "array", "items": {"type": "string"}},
                    "why": {"type": "string"},
                },
                "required": ["op", "rule_id", "text", "evidence", "why"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["edits"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Lesson:
    """A train task with its replies under the current documents."""

    task: TaskRecord
    replies: tuple[Reply, ...]
    support: int = 1

    @property
    def scored(self) -> list[tuple[Reply, Scored]]:
        """Replies that have a score."""
        return [(r, r.outcome) for r in self.replies if isinstance(r.outcome, Scored)]

    @property
    def failed(self) -> bool:
        """Whether most rollouts were not right."""
        wrong = sum(outcome.hard < 1 for _, outcome in self.scored)
        return bool(self.scored) and wrong * 2 > len(self.scored)

    @property
    def spread(self) -> float:
        """How far the best and the worst rollout are apart."""
        softs = [outcome.soft for _, outcome in self.scored]
        return max(softs) - min(softs) if softs else 0.0


@dataclass(frozen=True)
class Material:
    """What a reflection is given, besides the lessons."""

    kind: str
    document: str
    rules: Mapping[str, str]
    rejected: Mapping[str, str]
    preferences: str
    budget: int
    max_chars: int


async def reflect(
    calls: Calls, prompts: Prompts, lessons: Sequence[Lesson], material: Material, *, phase: str
) -> list[RuleEdit] | Missing:
    """The edits proposed, as they came; empty when nothing failed (then nothing is asked)."""
    failures = _every_kind_in_turn([lesson for lesson in lessons if lesson.failed])
    if not failures or material.budget <= 0:
        return []
    contrasts = sorted((x for x in lessons if x.spread > 0), key=lambda x: (-x.spread, x.task.id))
    none = "(none)"
    prompt = prompts.filled(
        "reflect",
        {
            "kind": material.kind,
            "document": fenced(material.document or "(empty)", "document"),
            "rules": "\n".join(f"{rule}: {text}" for rule, text in material.rules.items()) or none,
            "failures": "\n\n".join(_failure(x) for x in failures[:MOST_FAILURES]),
            "contrasts": "\n\n".join(_contrast(x) for x in contrasts[:MOST_CONTRASTS]) or none,
            "preferences": material.preferences or none,
            "rejected": "\n".join(f"{text} ({why})" for text, why in material.rejected.items()) or none,
            "max_chars": str(material.max_chars),
            "budget": str(material.budget),
        },
    )
    known = {lesson.task.id: lesson.task.derived_from or lesson.task.id for lesson in lessons}

    def read(value: dict[str, JsonValue]) -> list[RuleEdit]:
        return edits_of(value, known)

    return await calls.json("optimizer", phase, prompt, read, repeat=0, schema=SCHEMA, max_tokens=4_000)


def edits_of(value: dict[str, JsonValue], known: Mapping[str, str]) -> list[RuleEdit]:
    """The edits of a reply. Raises `ReplyError`.

    `known` says for each train task which real one it stands for; evidence that names none is left out.
    """
    entries = value.get("edits")
    if not isinstance(entries, list):
        raise ReplyError('"edits" must be a list')
    by_name: dict[str, Op] = {op: op for op in OPS}
    edits: list[RuleEdit] = []
    for entry in map(as_object, entries):
        op = by_name.get(as_text(entry.get("op")))
        if op is None or not isinstance(entry.get("text", ""), str):
            raise ReplyError('each edit needs "op" (add, replace or delete) and "text"')
        named = map(as_text, as_array(entry.get("evidence")))
        evidence = tuple(dict.fromkeys(known[e] for e in named if e in known))
        text, why = as_text(entry.get("text")), " ".join(as_text(entry.get("why")).split())[:300]
        rule = as_text(entry.get("rule_id")) if op != "add" else ""
        edits.append(RuleEdit(op, "" if op == "delete" else text, rule, evidence, why))
    return edits


def _every_kind_in_turn(failures: Sequence[Lesson]) -> list[Lesson]:
    """One failure of each kind of request, those with most sessions first, then a second of each: where not all can be
    shown, a frequent kind does not hide the others."""
    order: list[tuple[int, int, str, Lesson]] = []
    seen: Counter[str] = Counter()
    for lesson in sorted(failures, key=lambda lesson: lesson.task.id):
        order.append((seen[lesson.task.cluster_id], -lesson.support, lesson.task.id, lesson))
        seen[lesson.task.cluster_id] += 1
    return [lesson for *_, lesson in sorted(order, key=lambda entry: entry[:3])]


def _failure(lesson: Lesson) -> str:
    reply, outcome = min(lesson.scored, key=lambda pair: pair[1].soft)
    task = lesson.task
    parts = [
        f"Task {task.id} (came up in {lesson.support} sessions). The request:",
        fenced(task.intent, "request"),
        "The reply:",
        fenced(shorten_middle(reply.text, _SHOWN) or "(empty)", "reply"),
        f"Why it failed: {outcome.fail_reason or 'not said'}",
        "What a good reply has to do:",
        fenced(_criteria(task), "criteria"),
    ]
    return "\n".join(parts)


def _criteria(task: TaskRecord) -> str:
    checks = [f"{check.op} {check.arg!r}" for check in task.judge.checks] if task.judge is not None else []
    return "\n".join(filter(None, (task.reference, *checks))) or "(not said)"


def _contrast(lesson: Lesson) -> str:
    ranked = sorted(lesson.scored, key=lambda pair: pair[1].soft)
    worse, better = ranked[0][0], ranked[-1][0]
    return "\n".join(
        (
            f"Task {lesson.task.id}. This reply was better:",
            fenced(shorten_middle(better.text, _SHOWN), "better"),
            "than this one:",
            fenced(shorten_middle(worse.text, _SHOWN), "worse"),
        )
    )
