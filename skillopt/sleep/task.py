"""A task: one request of one session, with what was wrong with its first answer and how success is told.

The fields are those of a task file (`skillopt_sleep.tasks.v2`). The bad and the good answer and everything said after
the first answer are never shown in a replay. A split is decided once, written to the ledger, and never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from skillopt.core.json_types import JsonValue, as_array, as_object, as_text

Outcome = Literal["success", "fail", "mixed", "unknown"]
ReferenceKind = Literal["rubric", "rule", "exact", "none"]
Tier = Literal["text", "worktree", "tools", "none"]
Split = Literal["", "train", "val", "test"]
"""Blank only between reading a task file and `split.assign`."""
TaskOrigin = Literal["real", "dream", "recall"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
REFERENCE_KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)
TIERS: tuple[Tier, ...] = get_args(Tier)
SPLITS: tuple[Split, ...] = ("train", "val", "test")
TASK_ORIGINS: tuple[TaskOrigin, ...] = get_args(TaskOrigin)

MAX_INTENT, MAX_CONTEXT, MAX_CONTEXT_PARTS, MAX_ANSWER = 800, 200, 3, 2_000
"""Characters of a request, of each part of its context, how many parts, and characters of an answer."""


@dataclass(frozen=True)
class Check:
    """One literal condition on a reply; which `op`s there are is `checks`' to say."""

    op: str
    arg: JsonValue


@dataclass(frozen=True)
class Judge:
    """Checks that must all hold. `{"kind": "rule", "checks": [{"op": "contains", "arg": "Breaking"}]}`"""

    checks: tuple[Check, ...]
    kind: Literal["rule"] = "rule"


@dataclass(frozen=True)
class TaskRecord:
    """One task. `id` is `<cluster id>.<session id hash>`: nothing is keyed by a text that a model wrote."""

    id: str
    cluster_id: str
    project: str
    intent: str
    context: tuple[str, ...] = ()
    """Earlier turns of the same request, from before the answer."""
    bad_answer: str = ""
    good_answer: str = ""
    outcome: Outcome = "unknown"
    reference_kind: ReferenceKind = "none"
    reference: str = ""
    judge: Judge | None = None
    tier: Tier = "none"
    tags: tuple[str, ...] = ()
    source_sessions: tuple[str, ...] = ()
    """`SessionDigest.key` of each."""
    skill_hint: str = ""
    """The one skill used for this request; blank for none or several."""
    split: Split = ""
    origin: TaskOrigin = "real"
    derived_from: str = ""
    screened: tuple[str, ...] = ()
    """Codes of the content screen met in its texts."""


def record_of(entry: Mapping[str, JsonValue]) -> TaskRecord:
    """A task out of the JSON of `dataclasses.asdict` (checked when it came in)."""
    judge = as_object(entry.get("judge"))
    checks = tuple(Check(as_text(c.get("op")), c.get("arg")) for c in map(as_object, as_array(judge.get("checks"))))
    lists = ("context", "tags", "source_sessions", "screened")
    values: dict[str, object] = {
        **entry, **{name: tuple(as_text(part) for part in as_array(entry.get(name))) for name in lists}
    }  # fmt: skip
    values["judge"] = Judge(checks) if checks else None
    return TaskRecord(**values)  # pyright: ignore[reportArgumentType]
