"""Task files: where a person looks at tasks before they are replayed. Format `skillopt_sleep.tasks.v2`, JSON.

`{format, project, transcript_source, n_sessions, target_skill_path, reviewed, tasks}`; a bare list of tasks is read
too, and so is the first version of the format. Unknown keys, unknown words and checks that cannot work are errors that
name the task and the field; nothing is guessed. Whoever replays asks for `reviewed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_object, parse_json
from skillopt.sleep.errors import TaskFileError
from skillopt.sleep.redact import redact
from skillopt.sleep.state.private import write_text
from skillopt.sleep.task import (
    MAX_ANSWER,
    MAX_CONTEXT,
    MAX_CONTEXT_PARTS,
    MAX_INTENT,
    OUTCOMES,
    REFERENCE_KINDS,
    SPLITS,
    TASK_ORIGINS,
    TIERS,
    Check,
    Judge,
    TaskRecord,
)

FORMAT, OLD_FORMAT = "skillopt_sleep.tasks.v2", "skillopt_sleep.tasks.v1"
_HEAD = ("format", "project", "transcript_source", "n_sessions", "target_skill_path", "reviewed", "tasks")
_KEYS = tuple(field.name for field in fields(TaskRecord))
_WORDS: dict[str, Sequence[str]] = {
    "outcome": OUTCOMES, "reference_kind": REFERENCE_KINDS, "tier": TIERS, "split": ("", *SPLITS),
    "origin": TASK_ORIGINS,
}  # fmt: skip
_LISTS = ("context", "tags", "source_sessions", "screened")
_LIMITS = {"intent": MAX_INTENT, "bad_answer": MAX_ANSWER, "good_answer": MAX_ANSWER}
_OLD_SPLITS = {"replay": "train", "holdout": "val"}


@dataclass(frozen=True)
class TaskFile:
    """A task file as it was read or will be written."""

    tasks: tuple[TaskRecord, ...]
    project: str = ""
    transcript_source: str = "auto"
    n_sessions: int = 0
    target_skill_path: str = ""
    reviewed: bool = False

    def require_review(self, path: Path) -> None:
        """Raises `TaskFileError` unless a person said that the tasks were looked at."""
        if not self.reviewed:
            raise TaskFileError(f"{path} is not reviewed", hint='look at the tasks, then set "reviewed": true in it')


def read_task_file(path: Path, *, problem_of: Callable[[Check], str] = lambda _: "") -> TaskFile:
    """The tasks of a file. `problem_of` says what is wrong with a check. Raises `TaskFileError`."""
    try:
        value = parse_json(path.read_bytes())
    except OSError as fault:
        raise TaskFileError(f"cannot read {path}: {fault.strerror or fault}") from fault
    except (ValueError, RecursionError) as fault:
        raise TaskFileError(f"{path} is not JSON ({fault})") from fault
    head = as_object(value) if isinstance(value, dict) else {"tasks": value}
    for name in head:
        if name not in _HEAD:
            raise TaskFileError(f"{path}: unknown key {name!r}", hint="known are " + ", ".join(_HEAD))
    form = head.get("format", FORMAT)
    if form not in (FORMAT, OLD_FORMAT):
        raise TaskFileError(f"{path}: format is {form!r}", hint=f"this program reads {FORMAT} and {OLD_FORMAT}")
    entries = head.get("tasks")
    if not isinstance(entries, list):
        raise TaskFileError(f"{path}: tasks must be a list")
    tasks = tuple(_task(entry, f"{path}: task {n}", problem_of) for n, entry in enumerate(entries, start=1))
    twice = next((task.id for n, task in enumerate(tasks) if any(task.id == other.id for other in tasks[:n])), "")
    if twice:
        raise TaskFileError(f"{path}: two tasks have the id {twice!r}")
    count = head.get("n_sessions", 0)
    return TaskFile(
        tasks,
        _text(head, "project", str(path)),
        _text(head, "transcript_source", str(path)) or "auto",
        count if isinstance(count, int) else 0,
        _text(head, "target_skill_path", str(path)),
        head.get("reviewed") is True,
    )


def write_task_file(path: Path, file: TaskFile) -> None:
    """Put a task file at `path`, redacted once more, readable by its owner only."""
    value = {
        "format": FORMAT,
        "project": file.project,
        "transcript_source": file.transcript_source,
        "n_sessions": file.n_sessions,
        "target_skill_path": file.target_skill_path,
        "reviewed": file.reviewed,
        "tasks": [as_json(task) for task in file.tasks],
    }
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def as_json(task: TaskRecord) -> dict[str, JsonValue]:
    """A task as a task file says it, every text redacted."""
    said: dict[str, JsonValue] = {}
    for name in _KEYS:
        value: object = getattr(task, name)
        if isinstance(value, str):
            said[name] = redact(value)
        elif isinstance(value, tuple):
            said[name] = [redact(part) for part in cast("tuple[str, ...]", value)]
    if task.judge is not None:
        said["judge"] = {"kind": "rule", "checks": [{"op": c.op, "arg": c.arg} for c in task.judge.checks]}
    return said


def _task(entry: JsonValue, where: str, problem_of: Callable[[Check], str]) -> TaskRecord:
    if not isinstance(entry, dict):
        raise TaskFileError(f"{where} must be an object")
    said = _modern(dict(entry), where)
    where = f"{where} ({said.get('id')})" if said.get("id") else where
    for name in said:
        if name not in _KEYS:
            raise TaskFileError(f"{where}: unknown key {name!r}")
    for name in ("id", "intent"):
        if not _text(said, name, where).strip():
            raise TaskFileError(f"{where}: {name} is missing or empty")
    for name, words in _WORDS.items():
        if name in said and said[name] not in words:
            raise TaskFileError(
                f"{where}: {name} is {said[name]!r}", hint="it must be one of " + ", ".join(filter(None, words))
            )
    for name, limit in _LIMITS.items():
        if len(_text(said, name, where)) > limit:
            raise TaskFileError(f"{where}: {name} is longer than {limit} characters")
    if len(_list(said, "context", where)) > MAX_CONTEXT_PARTS or any(
        len(c) > MAX_CONTEXT for c in _list(said, "context", where)
    ):
        raise TaskFileError(f"{where}: context must be at most {MAX_CONTEXT_PARTS} texts of {MAX_CONTEXT} characters")
    values: dict[str, object] = {"cluster_id": str(said["id"]).rsplit(".", 1)[0], "project": "", "tier": "text"}
    for name in said:
        values[name] = (
            _list(said, name, where) if name in _LISTS else _text(said, name, where) if name != "judge" else None
        )
    values["judge"] = _judge(said.get("judge"), where, problem_of)
    task = TaskRecord(**values)  # pyright: ignore[reportArgumentType]
    if (task.reference_kind == "rule") > (task.judge is not None):
        raise TaskFileError(f"{where}: reference_kind is rule, but judge has no checks")
    if task.reference_kind in ("rubric", "exact") and not task.reference.strip():
        raise TaskFileError(f"{where}: reference_kind is {task.reference_kind}, but reference is empty")
    return task


def _modern(said: dict[str, JsonValue], where: str) -> dict[str, JsonValue]:
    """An entry of the first version in today's words."""
    if said.get("system") or said.get("reference_kind") == "answer":
        raise TaskFileError(
            f"{where}: system prompts and reference_kind answer are not supported", hint="leave the task out"
        )
    said.pop("system", None)
    if "context_excerpt" in said:
        excerpt = said.pop("context_excerpt")
        said["context"] = [excerpt[:MAX_CONTEXT]] if isinstance(excerpt, str) and excerpt else []
    if "attempted_solution" in said:
        attempt = said.pop("attempted_solution")
        said["bad_answer" if said.get("outcome") == "fail" else "good_answer"] = attempt
    if said.get("split") in _OLD_SPLITS:
        said["split"] = _OLD_SPLITS[str(said["split"])]
    return said


def _judge(value: JsonValue, where: str, problem_of: Callable[[Check], str]) -> Judge | None:
    if value is None or value == {}:
        return None
    said = as_object(value)
    entries = said.get("checks")
    if (
        said.keys() - {"kind", "checks"}
        or said.get("kind", "rule") != "rule"
        or not isinstance(entries, list)
        or not entries
    ):
        raise TaskFileError(f"{where}: judge must be {{kind: rule, checks: [{{op, arg}}]}}")
    checks: list[Check] = []
    for n, entry in enumerate(entries, start=1):
        parts = as_object(entry)
        op = parts.get("op")
        if not isinstance(op, str) or parts.keys() - {"op", "arg"}:
            raise TaskFileError(f"{where}: judge.checks {n} must be {{op, arg}}")
        check = Check(op, parts.get("arg"))
        problem = problem_of(check)
        if problem:
            raise TaskFileError(f"{where}: judge.checks {n}: {problem}")
        checks.append(check)
    return Judge(tuple(checks))


def _text(said: JsonObject, name: str, where: str) -> str:
    value = said.get(name, "")
    if not isinstance(value, str):
        raise TaskFileError(f"{where}: {name} must be a text")
    return value


def _list(said: JsonObject, name: str, where: str) -> tuple[str, ...]:
    value = said.get(name, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise TaskFileError(f"{where}: {name} must be a list of texts")
    return tuple(str(part) for part in value)
