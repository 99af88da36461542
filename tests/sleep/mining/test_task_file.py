"""S23's and S6's neighbours: a task file is read strictly, an old one too; what a miner says is read by its shape."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.core.errors import ReplyError
from skillopt.core.json_types import JsonObject
from skillopt.sleep.errors import TaskFileError
from skillopt.sleep.mining.miner import mined_of, prompt_values, rules_that_separate, still_a_pair, task_of
from skillopt.sleep.mining.requests import requests_of
from skillopt.sleep.mining.task_file import TaskFile, read_task_file, write_task_file
from skillopt.sleep.mining.tasks import Draft, drafts_of
from skillopt.sleep.task import Check, Judge, TaskRecord
from tests.sleep.mining.test_requests import PHRASES, clusters, session

TASK = TaskRecord(
    id="c1.ab", cluster_id="c1", project="/p", intent="Do it", context=("before",), bad_answer="x", good_answer="y",
    outcome="mixed", reference_kind="rule", judge=Judge((Check("contains", "y"),)), tier="text", split="val",
)  # fmt: skip


def _write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    file = TaskFile(
        (TASK, replace(TASK, id="c1.cd", judge=None, reference_kind="rubric", reference="breaking first")), "/p"
    )
    write_task_file(path, file)
    assert read_task_file(path) == file
    with pytest.raises(TaskFileError, match="not reviewed"):
        read_task_file(path).require_review(path)
    _write(path, {**json.loads(path.read_text()), "reviewed": True})
    read_task_file(path).require_review(path)


@pytest.mark.parametrize("reviewed", [1, "true", "yes", None])
def test_only_true_is_reviewed(tmp_path: Path, reviewed: object) -> None:
    assert not read_task_file(_write(tmp_path / "t.json", {"reviewed": reviewed, "tasks": []})).reviewed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": 1}, "unknown key 'colour'"),
        ({"tier": "txt"}, "tier is 'txt'"),
        ({"split": "dev"}, "split is 'dev'"),
        ({"intent": " "}, "intent is missing"),
        ({"intent": "x" * 801}, "longer than 800"),
        ({"context": ["x"] * 4}, "at most 3"),
        ({"context": "x"}, "a list of texts"),
        ({"bad_answer": 3}, "bad_answer must be a text"),
        ({"judge": {"kind": "rule", "checks": [{"op": "nope", "arg": 1}]}}, "judge.checks 1: unknown op"),
        ({"judge": {"checks": []}}, "judge must be"),
        ({"judge": None}, "judge has no checks"),
        ({"reference_kind": "rubric", "reference": ""}, "reference is empty"),
        ({"reference_kind": "answer"}, "not supported"),
        ({"system": "You are"}, "not supported"),
    ],
)
def test_what_is_wrong_names_task_and_field(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = tmp_path / "tasks.json"
    write_task_file(path, TaskFile((TASK,)))
    entry = json.loads(path.read_text())["tasks"][0]
    with pytest.raises(TaskFileError) as caught:
        read_task_file(_write(path, [{**entry, **change}]), problem_of=lambda c: "unknown op" if c.op == "nope" else "")
    assert words in str(caught.value)
    assert "task 1" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="two tasks"):
        read_task_file(_write(tmp_path / "t.json", [{"id": "a", "intent": "x"}, {"id": "a", "intent": "y"}]))


def test_the_first_version_is_read(tmp_path: Path) -> None:
    old = [
        {
            "id": "a",
            "intent": "x",
            "context_excerpt": "c",
            "attempted_solution": "s",
            "outcome": "fail",
            "split": "replay",
        },
        {"id": "b", "intent": "x", "attempted_solution": "s", "outcome": "success", "split": "holdout"},
    ]
    a, b = read_task_file(_write(tmp_path / "t.json", {"format": "skillopt_sleep.tasks.v1", "tasks": old})).tasks
    assert (a.context, a.bad_answer, a.good_answer, a.split) == (("c",), "s", "", "train")
    assert (b.bad_answer, b.good_answer, b.split) == ("", "s", "val")


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    said = (("Write the changelog entry for 1.4", "Added: x"), ("No, breaking changes go first", "Breaking: x"))
    (cluster,) = clusters(tmp_path, [session(name, *said) for name in "ab"])
    return drafts_of(cluster)[0]


REPLY: JsonObject = {
    "labels": [{"follow_up": 1, "label": "correction", "quote": "breaking changes go first"}],
    "intent": "Write the changelog entry for version 1.4",
    "rubric": ["Breaking changes stand first"],
    "checks": [{"op": "contains", "arg": "Breaking"}, {"op": "contains", "arg": "x"}, {"op": "zap", "arg": 1}],
    "needs_tools": False,
    "needs_files": True,
}


def test_s6_only_checks_that_separate_the_pair_stay(draft: Draft) -> None:
    task = task_of(draft, mined_of(REPLY, draft), problem_of=lambda check: "unknown" if check.op == "zap" else "")
    assert (task.reference_kind, task.reference, task.tier) == ("rubric", "Breaking changes stand first", "worktree")
    kept = rules_that_separate(task, lambda check, reply: str(check.arg) in reply)
    assert kept == (Check("contains", "Breaking"),)
    assert task.id == draft.task.id


def test_a_label_needs_an_exact_quotation(draft: Draft) -> None:
    assert still_a_pair(draft, mined_of(REPLY, draft))
    for labels in (
        [{"follow_up": 1, "label": "correction", "quote": "breaking changes come first"}],
        [{"follow_up": 1, "label": "new_request", "quote": "breaking changes"}],
        [{"follow_up": 7, "label": "correction", "quote": "x"}],
        [],
    ):
        assert not still_a_pair(draft, mined_of({**REPLY, "labels": labels}, draft))


@pytest.mark.parametrize(
    "change",
    [{"intent": ""}, {"rubric": "x"}, {"rubric": [1]}, {"checks": {}}, {"checks": [{"arg": 1}]}, {"needs_tools": "no"},
     {"labels": [{"follow_up": "1", "label": "correction", "quote": "x"}]}, {"labels": "x"}],
)  # fmt: skip
def test_a_reply_of_another_shape_is_asked_again(draft: Draft, change: dict[str, object]) -> None:
    with pytest.raises(ReplyError):
        mined_of({**REPLY, **change}, draft)  # pyright: ignore


def test_what_a_miner_is_shown_is_fenced_and_redacted() -> None:
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    (request,) = requests_of(session("a", (f"Use {secret}", "a"), (f"No, {secret} is wrong", "b")), PHRASES)
    values = prompt_values(Draft(TASK, request), "")
    assert secret not in "".join(values.values())
    assert values["follow_ups"].startswith("```data\n1: No,")
