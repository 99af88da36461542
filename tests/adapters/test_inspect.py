"""Inspect: its own bundled data sets and scorers, its own logs, what it refuses. Needs inspect-ai (Python 3.11)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import skillopt
from skillopt import adapters
from skillopt.core.errors import ConfigError, SkillOptError

TASKS = """
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, example_dataset
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, multiple_choice

@task
def biology():
    fields = FieldSpec(input="question", target="answer")
    return Task(dataset=example_dataset("biology_qa", fields), solver=generate(), scorer=includes())

@task
def choices():
    return Task(dataset=example_dataset("theory_of_mind"), solver=[multiple_choice(), generate()], scorer=match())
"""


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="the line for an older Python")
def test_an_older_python_is_told() -> None:
    with pytest.raises(ConfigError, match=r"needs Python 3\.11"):
        adapters.inspect("task.py")


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    if sys.version_info >= (3, 11):
        with pytest.raises(ConfigError, match=r"inspect"):
            adapters.inspect("task.py")


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two tasks, in a directory of its own."""
    pytest.importorskip("inspect_ai", reason="the inspect extra, Python 3.11")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.py").write_text(TASKS)
    return tmp_path / "tasks.py"


def test_a_task_is_asked_and_scored_by_its_own_scorer(tasks: Path) -> None:
    adapted = adapters.inspect(f"{tasks}@biology")
    first = adapted.items[0]
    assert len(adapted.items) == 20 and first["prompt"] and first["answer"]
    golds = {str(i["prompt"]): str(i["answer"][0]) for i in adapted.items}  # type: ignore[index]

    async def knows(messages: list[dict[str, str]]) -> str:
        question = next((q for q in golds if q in messages[-1]["content"]), "")
        return f"It is {golds[question]}." if question and "KNOW" in messages[0]["content"] else "nothing"

    found = skillopt.evaluate(adapted, target=skillopt.Model(knows, version="1"), skills={"none": "", "know": "KNOW"},
                              split="all", out="out")  # fmt: skip
    assert {one.name: one.mean for one in found.table.scores} == {"none": 0.0, "know": 1.0}


def test_a_log_brings_its_items_scorer_and_scores(tasks: Path) -> None:
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    said = ModelOutput.from_content("mockllm/model", "nothing")
    said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # counting would fetch an encoding
    model = get_model("mockllm/model", custom_outputs=[said] * 20)
    (log,) = inspect_ai.eval(f"{tasks}@biology", model=model, log_dir=str(tasks.parent / "logs"), display="none")
    assert log.status == "success"
    adapted = adapters.inspect_log(log.location)
    assert len(adapted.items) == 20 and set(adapted.recorded.values()) == {0.0}
    found = skillopt.evaluate(adapted, target="scripted", skills="", split="all", out="out")
    assert found.table.scores[0].n == 20


def test_what_is_refused(tasks: Path) -> None:
    for asked, words in (
        (f"{tasks}@choices", "solver is multiple_choice"), (str(tasks), "which task"), (f"{tasks}@none", "which task"),
        ("gone.py", "no such file"),
    ):  # fmt: skip
        with pytest.raises(SkillOptError, match=words):
            adapters.inspect(asked)
