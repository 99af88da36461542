"""What is found in items before anything is spent, with right values: and nothing is found where nothing is wrong."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.item import Item
from skillopt.envs.base import Env
from skillopt.envs.checks.load_checks import load_warnings
from skillopt.envs.registry import create_env
from tests.envs.conftest import Config, qa, shared


def found(rows: list[dict[str, Any]], template: str = "{{ question }}", **settings: Any) -> list[str]:
    env: Env = create_env("jsonl", Config(name="jsonl"), {"prompt_template": template, **settings})
    return load_warnings(env, [Item(f"q{n}", row) for n, row in enumerate(rows)])


BOXES = [
    {"question": f"{n} boxes of {n + 2} eggs?", "answer": f"{n}*{n + 2}={n * (n + 2)}\n#### {n * (n + 2)}",
     "gold": str(n * (n + 2))}
    for n in range(3, 43)
]  # fmt: skip
BOTH = "{{ question }}\n{{ answer }}"


def test_a_worked_solution_in_the_prompt_is_a_leak() -> None:
    said = found(BOXES, BOTH, answer_field="gold", scorer="numeric")
    assert len(said) == 1 and said[0].startswith(
        "the right answer stands in the prompt of 40 of 40 items, in field 'answer'"
    )
    assert "take the field out" in said[0]
    assert found(BOXES, answer_field="gold", scorer="numeric") == []


def test_a_text_that_is_to_be_read_is_told_as_such() -> None:
    rows = [{"passage": f"The ship sailed in {1900 + n} from port.", "question": "When?", "answer": str(1900 + n)}
            for n in range(30)]  # fmt: skip
    said = found(rows, "{{ passage }} {{ question }}", scorer="exact")
    assert (
        "30 of 30 items, in field 'passage'" in said[0] and "as it should be where the answer is to be found" in said[0]
    )


def test_options_labels_and_chance_are_no_leak() -> None:
    draw = random.Random(1)
    quiz = [
        {"question": f"Number {n}?", "choices": ["red", "blue", "green"], "answer": draw.choice("ABC")}
        for n in range(40)
    ]
    shown = "{{ question }}\nA. {{ choices[0] }}\nB. {{ choices[1] }}\nC. {{ choices[2] }}"
    assert found(quiz, shown, scorer="multiple_choice") == []
    truth = [
        {"question": f"{a} and not {b} or {n}", "answer": a}
        for n, (a, b) in enumerate([("True", "False"), ("False", "True")] * 20)
    ]
    assert found(truth, scorer="exact") == []


@pytest.mark.parametrize(
    ("golds", "scorer", "said"),
    [
        (["-5", "5", "3.14", "1.5"], "normalised", "loses what 3 right answers say: '-5' is '5'"),
        (["C", "C++", "C#"], "normalised", "takes 2 pairs of different right answers for one: 'C' and 'C++'"),
        (["the", "a", "blue"], "normalised", "loses what 2 right answers say: 'the' is ''"),
        (["00501", "7"], "numeric", "'00501' is '501'; use another scorer, for example exact"),
        (["5 km", "5 miles"], "numeric", "takes 1 pair of different right answers for one: '5 km' and '5 miles'"),
        (["The Beatles", "Beatles", "beatles."], "normalised", ""),
        (["-5", "5", "3.14", "5.0", "1,000", "1000"], "numeric", ""),
        (["Yes", "yes"], {"name": "exact", "ignore_case": True}, ""),
    ],
)
def test_what_a_scorer_loses(golds: list[str], scorer: Any, said: str) -> None:
    rows = [{"question": f"Question {n}?", "answer": gold} for n, gold in enumerate(golds)]
    got = [line for line in found(rows, scorer=scorer) if line.startswith("the scorer")]
    assert any(said in line for line in got) if said else got == []


def test_what_nothing_can_equal_and_what_nothing_equals() -> None:
    rows = [
        {"question": f"Question {n}?", "answer": answer} for n, answer in enumerate(["one\ntwo", "three", "", "the"])
    ]
    said = found(rows, scorer="exact", answer_format="last_line")
    assert [line for line in said if "no answer can be right for 1 of" in line and "q0" in line]
    assert [
        line
        for line in found(rows, scorer="normalised")
        if "an empty answer is right for 1 of 3 items, for example q3" in line
    ]
    tagged = [{"question": "q", "answer": "x</answer>y"}]
    assert "no answer can be right for 1 of 1" in found(tagged, scorer="exact")[0]


def test_one_question_with_two_answers() -> None:
    rows = [
        {"question": "2 + 2?", "answer": "4"},
        {"question": "2  + 2?", "answer": "four"},
        {"question": "3?", "answer": "3"},
    ]
    assert found(rows, scorer="exact")[0] == (
        "1 item asks what another one asks with another right answer: '4' (q0) and 'four' (q1)"
    )
    assert found([rows[0], {**rows[0], "id": "b"}], scorer="exact") == []


def test_every_environment_is_looked_at(tmp_path: Path) -> None:
    rows = [qa(f"i{n}") for n in range(20)]
    env = create_env("searchqa", Config(), {})
    assert load_warnings(env, [Item(row["id"], row) for row in rows]) == []
    rows[3]["answers"] = ["The"]
    assert "loses what 1 right answer say: 'The' is ''" in load_warnings(env, [Item(row["id"], row) for row in rows])[0]


@pytest.mark.parametrize(
    ("name", "answer", "scorer"),
    [("object_counting", "target", "numeric"), ("date_understanding", "target", "multiple_choice"),
     ("hyperbaton", "target", "multiple_choice"), ("boolean_expressions", "target", "exact"),
     ("multistep_arithmetic_two", "target", "numeric")],
)  # fmt: skip
def test_published_tasks_are_in_order(name: str, answer: str, scorer: str) -> None:
    rows = json.loads(shared(f"bbh/{name}.json").read_text(encoding="utf-8"))["examples"]
    said = found(rows, "{{ input }}", answer_field=answer, scorer=scorer)
    assert [line for line in said if "another right answer" not in line] == []


@pytest.mark.parametrize(
    "scorer",
    [
        {"name": "callable", "function": "fatal_scorer:score"},
        {"name": "all_of", "parts": ["exact", {"name": "callable", "function": "fatal_scorer:score"}]},
    ],
)
def test_no_function_of_a_users_own_is_called_at_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scorer: dict[str, Any]
) -> None:
    """It may hang, or end the process: it runs in the executor, and nowhere else."""
    (tmp_path / "fatal_scorer.py").write_text("import os\n\ndef score(answer, item):\n    os._exit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert found(BOXES, answer_field="gold", scorer=scorer) == []
