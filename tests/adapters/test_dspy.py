"""DSPy: a program with its own dummy model, examples and metrics of every form. Needs dspy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt import adapters
from skillopt.core.errors import DataError

dspy: Any = pytest.importorskip("dspy", reason="the dspy extra")


def model() -> Any:
    """A language model that answers well once the instructions say so."""

    class Obedient(dspy.LM):
        def __init__(self) -> None:
            super().__init__("obedient")

        def forward(self, prompt: Any = None, messages: Any = None, **kwargs: Any) -> Any:
            from types import SimpleNamespace

            text = "\n".join(str(m["content"]) for m in messages or [])
            n = text.rpartition("number is ")[2].split()[0].strip(".")
            said = str(int(n) * 2) if "DOUBLE" in text else "0"
            message = SimpleNamespace(content=f"[[ ## answer ## ]]\n{said}\n\n[[ ## completed ## ]]", tool_calls=None)
            choice = SimpleNamespace(message=message, finish_reason="stop")
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            return SimpleNamespace(choices=[choice], usage=usage, model="obedient")

    return Obedient()


def examples() -> list[Any]:
    return [
        dspy.Example(question=f"The number is {n}.", answer=str(2 * n)).with_inputs("question") for n in range(1, 17)
    ]


def right(example: Any, prediction: Any, trace: Any = None) -> bool:
    return prediction.answer.strip() == example.answer


def five(gold: Any, pred: Any, trace: Any, pred_name: Any, pred_trace: Any) -> Any:
    return dspy.Prediction(score=float(pred.answer.strip() == gold.answer), feedback="double it")


@pytest.mark.parametrize("metric", [right, five])
def test_the_skill_becomes_the_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: Any) -> None:
    monkeypatch.chdir(tmp_path)
    program = dspy.Predict("question -> answer")
    before = program.signature.instructions
    adapted = adapters.dspy(program, examples(), metric)
    with dspy.context(lm=model()):
        found = skillopt.evaluate(adapted, skills={"none": "", "rule": "DOUBLE"}, split="all", out="out")
    assert {one.name: one.mean for one in found.table.scores} == {"none": 0.0, "rule": 1.0}
    assert program.signature.instructions == before, "the program itself is left alone"
    from skillopt.adapters.dspy_program import apply_skill

    compiled: Any = apply_skill(program, "DOUBLE")
    assert compiled.signature.instructions.startswith("DOUBLE\n\n")


def test_an_example_without_inputs() -> None:
    with pytest.raises(DataError, match="says no inputs"):
        adapters.dspy(dspy.Predict("question -> answer"), [dspy.Example(question="a")], right)
