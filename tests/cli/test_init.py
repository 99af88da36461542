"""`skillopt init` with one's own items: nothing half made, choices with their letters, one's own scorer."""

from __future__ import annotations

import json

import pytest
import yaml

from skillopt.envs.templates import Template


def items(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def quiz(choices, **names):
    field = names.get("field", "choices")
    return [{"id": str(n), "question": f"Which colour is number {n}?", field: choices, "gold": "A"} for n in range(10)]


def test_a_directory_is_no_item_file(run, tmp_path):
    done = run("init", "made", "--data", ".")
    assert done.returncode == 2 and "is a directory" in done.stderr and not (tmp_path / "made").exists()


def test_a_selection_split_of_one_item_is_refused_with_advice(run, tmp_path):
    items(tmp_path / "few.jsonl", [{"question": f"q{n}", "answer": f"a{n}"} for n in range(5)])
    done = run("init", "made", "--data", "few.jsonl")
    assert done.returncode == 2 and "1 selection item," in done.stderr and "--split-ratio 1:1:1" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "made").exists()
    made = run("init", "made", "--data", "few.jsonl", "--split-ratio", "1:2:1", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    assert "(1 items)" not in made.stdout and "(1 item)" in made.stdout


def test_a_failed_init_takes_away_only_what_it_made(run, tmp_path):
    items(tmp_path / "wrong.jsonl", [{"question": f"q{n}", "answer": f"a{n}"} for n in range(10)])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    for directory in ("mine", "deep/er"):
        done = run("init", directory, "--data", "wrong.jsonl", "--scorer", "numeric")
        assert done.returncode == 2 and "not one number" in done.stderr
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        (["red", "blue"], "A. red\nB. blue"),
        (["A) red", "B) blue"], "A) red\nB) blue"),
        ([{"label": "A", "text": "red"}, {"label": "B", "text": "blue"}], "A. red\nB. blue"),
        ({"A": "red", "B": "blue"}, "A. red\nB. blue"),
    ],
)
@pytest.mark.parametrize("field", ["choices", "options"])
def test_lettered_choices_follow_the_question(run, tmp_path, choices, shown, field):
    rows = quiz(choices, field=field)
    items(tmp_path / "quiz.jsonl", rows)
    made = run("init", "made", "--data", "quiz.jsonl", "--scorer", "multiple_choice", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    env = yaml.safe_load((tmp_path / "made/config.yaml").read_text())["env"]
    assert env["scorer"].get("choices_field", "choices") == field
    task = {name: value for name, value in rows[3].items() if name != "gold"}
    text = Template(env["prompt_template"], name="t").render({"item": task, **task})
    assert text.strip() == f"Which colour is number 3?\n{shown}"


def test_a_scorer_of_ones_own_comes_along(run, tmp_path):
    items(tmp_path / "maths.jsonl", [{"question": f"q{n}", "answer": f"so #### {n}"} for n in range(10)])
    (tmp_path / "judge.py").write_text("def score(answer, item):\n    return answer == item['answer'].split()[-1]\n")
    made = run("init", "made", "--data", "maths.jsonl", "--scorer", "judge:score", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "made/judge.py").exists()
    assert run("plan", "--config", "config.yaml", cwd=tmp_path / "made").returncode == 0
