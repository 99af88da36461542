"""`skillopt init` with one's own items: nothing half made, choices with their letters, one's own scorer."""

from __future__ import annotations

import json

import pytest
import yaml

from skillopt.api.project.fields import fields_of
from skillopt.api.project.projects import ProjectRequest, make_project
from skillopt.api.project.template import template_of
from skillopt.core.errors import DataError, SkillOptError
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


@pytest.mark.cases(3)
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


def test_labels_that_are_asked_for_are_the_right_answers_of_the_items_as_they_are_written(run, tmp_path):
    teams = ["Störung", "Kündigung", "Umzug"]
    rows = "".join(f"Anfrage {n};{teams[n % 3]}\n" for n in range(30))
    (tmp_path / "anfragen.csv").write_text(f"Anfrage;Team\n{rows}", encoding="cp1252")
    made = run("init", "made", "--data", "anfragen.csv", "--answer-field", "Team", "--scorer", "labels")
    assert made.returncode == 0 and "with the 3 right answers of the items as labels" in made.stdout, made.stderr
    text = (tmp_path / "made" / "config.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["env"]["scorer"] == {"name": "labels", "labels": sorted(teams)} and "Störung" in text


def test_a_scorer_of_ones_own_comes_along(run, tmp_path):
    items(tmp_path / "maths.jsonl", [{"question": f"q{n}", "answer": f"so #### {n}"} for n in range(10)])
    (tmp_path / "judge.py").write_text("def score(answer, item):\n    return answer == item['answer'].split()[-1]\n")
    made = run("init", "made", "--data", "maths.jsonl", "--scorer", "judge:score", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "made/judge.py").exists()
    assert run("plan", "--config", "config.yaml", cwd=tmp_path / "made").returncode == 0


def test_init_says_what_it_chose_and_shows_one_prompt_with_its_gold(run, tmp_path):
    items(
        tmp_path / "leak.jsonl",
        [{"question": f"{n} boxes of {n} eggs?", "answer": f"{n}*{n}={n * n}\n#### {n * n}", "gold": str(n * n),
          **({"passage": f"Page {n}."} if n % 2 else {})} for n in range(3, 43)],
    )  # fmt: skip
    made = run("init", "made", "--data", "leak.jsonl", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    env = yaml.safe_load((tmp_path / "made/config.yaml").read_text())["env"]
    assert env["answer_field"] == "gold" and env["scorer"]["name"] == "numeric"
    assert "answer" not in env["prompt_template"].replace("answer_tag", "") and "passage" in env["prompt_template"]
    assert "not shown to the model: answer" in made.stdout and "passage (in 20 of 40)" in made.stdout
    shown = made.stdout.partition("as the model will see it:")[2]
    boxes = int(shown.split(" boxes")[0].split()[-1])
    assert f"right answer: {boxes * boxes}\n" in shown and "####" not in shown and "warning" not in made.stdout


@pytest.mark.parametrize(
    ("rows", "says", "refused"),
    [
        ([{"question": f"q{n}", "answer": f"a{n}", "label": str(n)} for n in range(30)], "",
         "one of: answer, label"),
        ([{"q": f"q{n}", "b": f"a{n}"} for n in range(30)], "", "--answer-field one of: q, b"),
        ([{"question": f"q{n}", "answer": "word " * 60 + str(n)} for n in range(30)], "", "--scorer one of: exact"),
        ([{"text": f"q{n}", "labels": [{"slot": "time", "span": n}]} for n in range(30)], "", "lists of objects"),
        ([{"question": f"q{n}", "answers": {"text": [f"a{n}"], "answer_start": [1]}} for n in range(30)],
         "inside that field, in 'text'", ""),
        ([{"question": f"q{n}", "answer": f"so\n#### {n}"} for n in range(30)], "behind the last ####", ""),
        ([{"text": f"q{n}", "category": ["spam", "ham", "eggs"][n % 3]} for n in range(30)], "scorer labels: 3", ""),
        ([{"question": f"q{n}", "choices": ["x", f"y{n}"], "answer": n % 2} for n in range(30)],
         "numbers from 0", ""),
        ([{"question": f"q{n}", "answer": ["-5", "5", "3.14", "1.5", str(n)][n % 5]} for n in range(30)],
         "scorer numeric", ""),
        ([{"question": f"q{n}", "answer": f"{n},5"} for n in range(30)], "decimal comma", ""),
        ([{"question": f"q{n}", "answer": f"v1.{n}" if n % 2 else f"v{11 + n}"} for n in range(30)],
         "scorer exact", ""),
        ([{"text": f"q{n}", "labels": {"time": "5"} if n % 2 else {}} for n in range(30)], "scorer json_fields", ""),
        ([{"question": f"q{n}", "choices": {"text": ["x", f"y{n}"], "label": ["A", "B"]}, "answerKey": "AB"[n % 2]}
          for n in range(30)], "scorer multiple_choice", ""),
        ([{"messages": [{"role": "user", "content": f"q{n}?"}, {"role": "assistant", "content": f"a{n}"}]}
          for n in range(30)], "the field 'answer'", ""),
        ([{"text": f"q{n}", "label": ["<5", ">5"][n % 2]} for n in range(30)], "scorer exact", ""),
        ([{"question": f"q{n}", "answer": f"first\nthen\nso {n}"} for n in range(30)], "", "of several lines"),
        ([{"question": f"q{n}", "answer": "one two three four five six seven eight " + str(n)} for n in range(30)],
         "9 words or more, and only a reply with those words is right", ""),
        ([{"question": f"q{n}", "answer": {"value": f"a{n}", "aliases": [f"b{n}"]}} for n in range(30)],
         "inside that field, in 'value'", ""),
        ([{"question": f"q{n}", "answer": {"value": f"a{n}", "aliases": [f"b{n}", f"a{n}"]}} for n in range(30)],
         "inside that field, in 'aliases'", ""),
        ([{"prompt": f"{n}+1? {n + 1}", "answer": str(n + 1)} for n in range(30)], "",
         "no field to show; prompt: it ends with the right answer"),
        ([{"question": f"q{n}, then", "steps": ["add", f"get {n}"], "gold": str(n)} for n in range(30)],
         "steps (it ends with the right answer in 30", ""),
        ([{"question": f"q{n}", "choices": ["x", "y", "z"], "right": "xyz"[n % 3], "answer": "xyz"[n % 3]}
          for n in range(30)], "right (it ends with the right answer in 30", ""),
        ([{"question": f"q{n}", "parity": "ny"[n % 2], "polite": "ny"[n // 2 % 2], "answer": "ny"[n % 2]}
          for n in range(30)], "shown to the model: parity (it ends with the right answer in 30 of 30 items)", ""),
        ([{"question": f"q{n}, then", "info": {"answer": f"{n}", "of": 1}, "gold": f"{n}"} for n in range(30)],
         "info (it holds the right answer, in 'answer')", ""),
        ([{"question": f"q{n}, then", "answer": f"{n}" if n else "00501"} for n in range(30)], "scorer normalised", ""),
        ([{"Frage": f"q{n}", "Antwort": f"a{n}", "Thema": f"t{n}"} for n in range(30)], "the field 'Antwort' (by", ""),
        ([{"question": "q", "answer": "a"}] * 12, "", "1 item (12 rows, exact copies counted once)"),
        ([{"question": f"q{n}", "answer": f"a{n}", "Split": "test"} for n in range(30)], "", "marked split=test"),
        ([{"text": f"q{n}", "labels": [["bug"], ["bug", "ads"], ["ads", "mail"]][n % 3]} for n in range(30)],
         "the lists hold the same 3 values again and again (ads, bug, mail): labels or a ranking", ""),
        ([{"query": f"q{n}", "answer": ["abc", "bca", "cab"][n % 3].replace("", " ").split()} for n in range(30)],
         "any one of an item's is right here", ""),
        ([{"question": f"q{n}", "answer": [f"a{n}", f"the a{n}", f"b{n}"]} for n in range(30)],
         "where an item lists several right answers, any one of them is right", ""),
        ([{"text": f"q{n}", "label": ["bug", "ads", "ads; bug"][n % 3]} for n in range(30)],
         "'ads; bug' is several labels joined", ""),
        ([{"prompt": f"def f{n}(x):", "answer": f"    return x + {n}", "entry_point": "f", "test": f"assert f{n}(1)"}
          for n in range(30)], "", "the items bring tests (test, entry_point)"),
        ([{"prompt": f"q{n}", "expected_output": f"a{n}", "expectations": [f"says a{n}"]} for n in range(30)],
         "expectations (its name says an answer)", ""),
        ([{"prompt": f"q{n}", "expected_output": f"a{n}", "assertions": [f"says a{n}"]} for n in range(30)],
         "every item says in 'assertions' what is expected", ""),
        ([{"question": f"q{n}", "answer": f"1.{100 + n},50"} for n in range(30)], "decimal comma", ""),
    ],
)  # fmt: skip
def test_what_is_guessed_and_what_is_asked_for(tmp_path, rows, says, refused):
    items(tmp_path / "rows.jsonl", rows)
    asked = ProjectRequest(tmp_path / "made", tmp_path / "rows.jsonl", backend="scripted")
    if refused:
        with pytest.raises(SkillOptError) as caught:
            make_project(asked)
        assert refused in str(caught.value) and "\n" not in str(caught.value) and not (tmp_path / "made").exists()
        return
    made = make_project(asked)
    assert any(says in text for text in made.said), made.said
    assert made.gold and made.prompt and made.gold not in made.prompt.splitlines()
    unexpected = [text for text in made.warnings if "conversations" not in text]
    assert unexpected == []


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"docId": "d{n}", "data_split": "dev", "metadata": {"subject": "x{n}"}}, []),
        ({"type": "bridge", "question_type": "free", "problem version": "text only", "Fold": 3}, []),
        ({"ref": "94c35e80-a390-4db5-92db-9e52217a42{n}", "commit": "0123456789abcdef{n}"}, []),
        ({"goldAnswer": "so it is {n}", "workedSteps": "first {n}", "hint": "try {n}", "Chain of Thought": "{n}"}, []),
        ({"source": "page {n} of the report", "type": "a longer text number {n}"}, ["source", "type"]),
    ],
)
def test_what_is_said_about_an_item_is_no_part_of_its_prompt(tmp_path, more, shown):
    filled = [
        {k: v.replace("{n}", str(n)) if isinstance(v, str) else v for k, v in more.items()} for n in range(10, 40)
    ]
    rows = [{"question": f"q{n}?", **extra, "answer": f"word{n}"} for n, extra in enumerate(filled)]
    items(tmp_path / "rows.jsonl", rows)
    asked = ProjectRequest(tmp_path / "made", tmp_path / "rows.jsonl", answer_field="answer", backend="scripted")
    made = make_project(asked)
    assert [line.partition(":")[0] for line in made.prompt.splitlines() if ":" in line] == (
        [*shown, "question"] if shown else []
    )
    said = " ".join(made.said)
    assert all((f"{name} (" in said) == (name not in shown) for name in more), said


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        (lambda n: {"source": ["Hund", "Katze"][n % 2] + str(n), "target": f"dog{n}"}, "Hund0"),
        (lambda n: {"id": n, "type": "abc"[n % 3], "label": "xyz"[n % 3]}, "a"),
        (lambda n: {"Question": f"q{n}", "Correct Answer": f"a{n}"}, "q0"),
    ],
)
def test_a_name_for_what_is_said_about_an_item_is_shown_where_nothing_else_is_asked(tmp_path, row, prompt):
    rows = [row(n) for n in range(30)]
    fields = fields_of("rows", rows, "", ("choices",))
    assert Template(template_of(fields, rows), name="t").render({"item": rows[0], **rows[0]}) == prompt


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"question": "q%d", "n": 1e999, "answer": "a"}', "line 1: not valid JSON: 1e999 is larger than any number"),
        ('{"question": "q%d", "answer": -1e400}', "line 1: not valid JSON: -1e400 is larger than any number"),
        ('{"question": "q%d", "n": ' + "[" * 100_000 + "]" * 100_000 + "}", "not valid JSON: it is nested too deeply"),
        ('{"id": 1, "question": "q%d", "answer": "a%d"}', "item id '1' stands twice"),
        ('{"split": "holdout", "question": "q%d", "answer": "a"}', "marked split='holdout'"),
    ],
    ids=["1e999", "-1e400", "deep", "ids", "split"],
)
def test_a_refused_item_is_named_in_the_file_that_was_given(tmp_path, text, says):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(text.replace("%d", str(n)) + "\n" for n in range(30)))
    with pytest.raises(DataError) as caught:
        make_project(ProjectRequest(tmp_path / "project", file, answer_field="answer", backend="scripted"))
    assert says in str(caught.value) and str(file) in str(caught.value) and "project" not in str(caught.value)
    assert not (tmp_path / "project").exists()


def test_spellings_of_one_label_are_one_and_unanswered_questions_are_told_to_the_target(tmp_path):
    labels = ["Refund", "refund", "Refund ", "SHIPPING", "shipping", "Other"]
    rows = [{"message": f"m{n}", "label": labels[n % 6]} for n in range(60)]
    items(tmp_path / "mail.jsonl", rows)
    made = make_project(ProjectRequest(tmp_path / "made", tmp_path / "mail.jsonl", backend="scripted"))
    env = yaml.safe_load((tmp_path / "made/config.yaml").read_text())["env"]
    assert env["scorer"] == {"name": "labels", "labels": ["Other", "Refund", "shipping"]}
    assert any("'refund' as 'Refund'; 'SHIPPING' as 'shipping'" in text for text in made.said)
    asked = [{"context": f"Ann is {n}.", "question": f"Who is {n}?", "answers": [f"Ann {n}"] if n % 3 else [],
              "is_impossible": n % 3 == 0} for n in range(30)]  # fmt: skip
    items(tmp_path / "squad.jsonl", asked)
    make_project(ProjectRequest(tmp_path / "qa", tmp_path / "squad.jsonl", backend="scripted"))
    env = yaml.safe_load((tmp_path / "qa/config.yaml").read_text())["env"]
    assert env["system_prompt"].endswith("Where the text holds no answer, answer: unanswerable.")


def test_the_only_field_whose_values_come_back_is_the_answer_and_two_such_are_asked_about(tmp_path):
    rows = [{"Subject": f"s{n}", "Body": f"b{n}", "Queue": ("Tech", "Sales", "Billing")[n % 3]} for n in range(60)]
    items(tmp_path / "tickets.jsonl", rows)
    made = make_project(ProjectRequest(tmp_path / "made", tmp_path / "tickets.jsonl", backend="scripted"))
    assert any("'Queue' (the only one whose values come back, with 3 values)" in text for text in made.said)
    for name, values in (("Region", ("North", "South")), ("Region", ("North",))):
        items(tmp_path / "two.jsonl", [row | {name: values[n % len(values)]} for n, row in enumerate(rows)])
        with pytest.raises(DataError, match="no field that looks like the right answer"):
            make_project(ProjectRequest(tmp_path / "two", tmp_path / "two.jsonl", backend="scripted"))


def test_the_evals_of_a_skill_are_told_and_go_to_no_agent(run, tmp_path):
    (tmp_path / "boxes/evals").mkdir(parents=True)
    (tmp_path / "boxes/SKILL.md").write_text("---\nname: boxes\ndescription: Use for boxes.\n---\n# Boxes\n")
    (tmp_path / "boxes/evals/evals.json").write_text("{}")
    made = run("init", "made", "--skill", "boxes", "--backend", "scripted")
    assert made.returncode == 0, made.stderr
    assert "samples about dates" in made.stdout + made.stderr and "boxes/evals/evals.json" in made.stdout + made.stderr
    assert not (tmp_path / "made/skill/evals").exists() and (tmp_path / "made/skill/SKILL.md").is_file()
