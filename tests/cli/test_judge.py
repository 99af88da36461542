"""`skillopt judge calibrate`: a judge whose noise and bias are known is found out, and bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.cli.main import invoke

JUDGE = """
import hashlib, json

def luck(*parts):
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:12], 16) / 16**12

def respond(request):
    if request.schema_name != "verdict":
        return "ready"
    text = str(request.messages[1].content)
    answer = text.split("```answer\\n")[1].split("\\n```")[0]
    good = answer.startswith("good")
    if luck("noise", text, request.repeat) < 0.2:
        good = not good
    return json.dumps({"reason": "because", "score": 9 if good else 1})
"""
CONFIG = """
model: {backend: scripted, judge: judge-model, scripted_script: judge.py}
env: {name: jsonl, prompt_template: "{{ question }}", scorer: {name: rubric, text: "Is good."}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("judge.py").write_text(JUDGE)
    Path("config.yaml").write_text(CONFIG)
    rows = [f'"Task {n}","{"good" if n % 2 else "bad"} answer {n}",{"good" if n % 2 else "bad"}' for n in range(60)]
    Path("labels.csv").write_text("item,answer,label\n" + "\n".join(rows) + "\n")
    return tmp_path


def calibrate(*arguments: str) -> int:
    return invoke(["judge", "calibrate", "--config", "config.yaml", *arguments])


def test_a_noisy_judge_is_found_out_and_the_same_command_is_free(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of ten verdicts are turned round at random: agreement 0.8, noise 2 · 0.2 · 0.8."""
    assert calibrate("--labels", "labels.csv", "--repeats", "3", "--json", "env.out_root=out") == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["kind"], found["judge"], found["answers"]) == ("right or wrong", "judge-model", 60)
    assert found["tokens"]["judge"]["calls"] == 180
    for name, truth in (("agreement", 0.8), ("noise", 0.32), ("kappa", 0.6), ("leniency", 0.0)):
        low, high = found[name]["interval"]
        assert low <= truth <= high and low < found[name]["value"] < high and found[name]["n"] == 60, name
    assert found["agreement"]["interval"][1] - found["agreement"]["interval"][0] < 0.2
    for text in (
        "Plan: 60 answers (right or wrong), 3 times each: 180 calls",
        "beyond chance",
        "noise",
        "They differ on",
    ):
        assert text in said.err
    rows = found["disagreements"]
    assert rows and all(row["against"] > row["draws"] / 2 and row["reason"] == "because" for row in rows)
    assert rows[0]["where"].startswith("labels.csv, line ") and {row["people"] for row in rows} <= {"right", "wrong"}
    ledger = json.loads((place / "out/logs/ledger.json").read_text())["calls"]
    assert {row["role"] for row in ledger} == {"judge"}
    assert sum(row["calls"] for row in ledger) == 181  # one of them to see whether it answers
    before = (place / "out/calibration.json").read_bytes()
    assert calibrate("--labels", "labels.csv", "--repeats", "3", "--replay", "env.out_root=out") == 0
    assert (place / "out/calibration.json").read_bytes() == before
    assert "Result: out/calibration.json" in capsys.readouterr().out


def test_a_budget_ends_it_with_what_was_measured(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate("--labels", "labels.csv", "budget.max_calls=40", "env.out_root=out") == 0
    assert "stopped: budget reached" in capsys.readouterr().out
    found = json.loads((place / "out/calibration.json").read_text())
    assert 0 < found["measured"] < 60 and found["stopped_by"] == "budget"
    assert calibrate("--labels", "labels.csv", "env.out_root=out") == 0
    assert json.loads((place / "out/calibration.json").read_text())["measured"] == 60


@pytest.mark.parametrize(
    ("labels", "arguments", "said"),
    [
        ("item,answer\nx,y\n", (), "labels.csv, line 2: there is no 'label'; it has item, answer"),
        ("item,answer,label\n", (), "there are no labelled answers"),
        ("item,answer,label\nx,y,7\n", (), "the label '7' is not within 0 to 1"),
        ("item,answer,label\nx,y,maybe\n", (), "the label 'maybe' is not within 0 to 1"),
        ("item,answer,label\nx,y,7\n", ("--scale", "1:5"), "the label '7' is not within 1 to 5"),
        ("item,answer,label\nx,y,1\n", ("--scale", "5:1"), "the scale 5:1 cannot be used"),
        ("item,answer,label\nx,y,1\n", ("--scale", "five"), "the scale 'five' is no pair of numbers"),
        ("item,answer,label\nx,y,1\n", ("--repeats", "0"), "--repeats"),
        ("item,answer,label\nx,y,1\n", ("env.scorer=exact",), "env.scorer asks no judge"),
        ("item,a,b,preferred\nx,y,z,c\n", ("env.scorer={name: pairwise, text: t}",), "preferred is 'c'"),
        ("item,a,b,preferred\nx,y,,a\n", ("env.scorer={name: pairwise, text: t}",), "answers is blank"),
        ("item,answer,label\nx,y,1\n", ("env.scorer={name: pairwise, text: t}",), "item, a, b, preferred"),
        ("item,a,b,preferred\nx,y,z,a\n", (), "item, answer, label"),
        (None, (), "No such file"),
    ],
)
def test_bad_input_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], labels: str | None, arguments: tuple[str, ...], said: str
) -> None:
    file = place / "labels.csv"
    file.unlink() if labels is None else file.write_text(labels)
    assert calibrate("--labels", "labels.csv", *arguments) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert not (place / "outputs").exists()


def test_rows_name_items_of_the_data_and_sealed_ones_are_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"id": f"q{n}", "question": f"Say {n}.", "answer": str(n)} for n in range(20)]
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    data = ("env.data_path=items.jsonl", "env.split_mode=ratio", "env.out_root=out")
    rows: list[dict[str, Any]] = [{"item": f"q{n}", "answer": "good", "label": 1} for n in range(20)]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert calibrate("--labels", "labels.jsonl", *data) == 0
    assert "of 20 answers are of test items" in capsys.readouterr().out
    asked = (place / "out/calibration.json").read_text()
    assert '"items": 20' in asked
    Path("labels.jsonl").write_text('{"item": "q99", "answer": "good", "label": 1}\n')
    assert calibrate("--labels", "labels.jsonl", *data) == 2
    assert "labels.jsonl, line 1: no item has the id 'q99'" in capsys.readouterr().err


SEAL_JUDGE = """
def respond(request):
    system = str(request.messages[0].content)
    if "You judge one answer" not in system:
        return "ready"
    text = str(request.messages[1].content)
    answer = text.split("```answer\\n")[1].split("\\n```")[0]
    return "A" if answer.startswith("good") or (answer.startswith("odd") and request.repeat >= 1000) else "B"
"""


def test_the_judge_of_an_environment_of_its_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SealQA's grader by letters: each draw is asked anew; without a grader there is none to judge."""
    rows = [{"id": f"s{n}", "question": f"Who won race {n}?", "answer": f"Ann {n}"} for n in range(12)]
    Path("seal.json").write_text(json.dumps(rows))
    Path("judge.py").write_text(SEAL_JUDGE)
    Path("config.yaml").write_text(
        "model: {backend: scripted, judge: judge-model, scripted_script: judge.py}\n"
        "env: {name: sealqa, data_path: seal.json, split_mode: ratio, split_ratio: '1:1:1'}\n"
    )
    labels = [
        f"s{n},{('good', 'bad', 'odd')[n % 3]} answer {n},{'right' if n % 3 == 0 else 'wrong'}" for n in range(12)
    ]
    Path("seal.csv").write_text("item,answer,label\n" + "\n".join(labels) + "\n")
    assert calibrate("--labels", "seal.csv", "--repeats", "3", "--json", "env.out_root=out") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scorer"], found["kind"], found["answers"], found["measured"]) == ("sealqa", "right or wrong", 12, 12)
    assert found["tokens"]["judge"]["calls"] == 36
    assert found["agreement"]["value"] == pytest.approx((4 + 4 + 4 / 3) / 12)  # an odd answer: wrong, then right twice
    assert {row["item"] for row in found["disagreements"]} == {f"s{n}" for n in range(12) if n % 3 == 2}
    assert calibrate("--labels", "seal.csv", "env.grader=equality") == 2
    assert "its scorer asks no judge" in capsys.readouterr().err
    Path("config.yaml").write_text("model: {backend: scripted}\nenv: {name: sealqa}\n")
    assert calibrate("--labels", "seal.csv") == 2
    assert "its judge is asked about its items, and there are none" in capsys.readouterr().err
