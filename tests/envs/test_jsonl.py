"""Your own tasks without code: template, gold withheld, scorers in YAML, ids, and the refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import ConfigError, DataError
from skillopt.envs.base import Env, Turn
from skillopt.envs.checks.one_answer import scored
from skillopt.envs.registry import create_env

from .conftest import Config, shared, write

ROWS = [{"text": f"number {n}", "answer": str(n), "kind": "odd" if n % 2 else "even"} for n in range(20)]


def env(path: Path, config: dict[str, Any] | None = None, **settings: Any) -> Env:
    values = {"prompt_template": "Read: {{ text }}", "scorer": "exact", **settings}
    return create_env("jsonl", Config(**{"name": "jsonl", "data_path": str(path), **(config or {})}), values)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "tasks.jsonl", "\n".join(map(json.dumps, ROWS)))


async def test_items_messages_and_score(data: Path) -> None:
    one = env(data, task_type_field="kind")
    splits = one.load()
    assert (len(splits.train), len(splits.selection), len(splits.test)) == (4, 2, 14)
    item = splits.train[0]
    assert len(item.id) == 16 and item.task_type == item.data["kind"]
    assert one.load().train[0].id == item.id
    system, user = one.messages(item, "Rule.\n")
    assert str(system.content).endswith("## Skill\n\nRule.\n")
    assert user.content == f"Read: {item.data['text']}" == one.task_text(item)
    assert "Skill" not in str(one.messages(item, "")[0].content)
    assert (await scored(one, item, f"<answer>{item.data['answer']}</answer>")).hard == 1
    assert one.golds(item) == (item.data["answer"],)
    assert one.next_turn(item, [Turn("u", "r")]) is None


async def test_csv_with_ids_and_choices_from_real_data(tmp_path: Path) -> None:
    text = shared("banking77/test.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))[:60]
    assert rows
    path = write(tmp_path / "b.csv", text)
    one = env(path, {"limit": 5}, prompt_template="{{ text }}", answer_field="category", scorer="normalised")
    splits = one.load()
    assert len(splits.test) == 5 and splits.train_total > 100
    assert (await scored(one, splits.test[0], str(splits.test[0].data["category"]))).hard == 1


async def test_real_multiple_choice_from_an_object_of_examples(tmp_path: Path) -> None:
    examples = json.loads(shared("bbh/hyperbaton.json").read_text(encoding="utf-8"))["examples"]
    path = write(tmp_path / "h.json", {"data": examples})
    one = env(
        path, prompt_template="{{ input }}", answer_field="target", scorer="multiple_choice", answer_format="whole"
    )
    splits = one.load()
    assert splits.train_total == len(examples) // 5
    assert (await scored(one, splits.test[0], f"The answer is {splits.test[0].data['target']}")).hard == 1


def test_an_undefined_field_names_variable_and_item(data: Path) -> None:
    with pytest.raises(DataError, match=r"prompt_template, item '.{16}'.*'textt' is undefined.*known names.*text"):
        env(data, prompt_template="{{ textt }}").load()


def test_the_gold_field_never_reaches_the_target(data: Path) -> None:
    with pytest.raises(ConfigError, match="gold field 'answer'"):
        env(data, prompt_template="{{ text }} {{ answer }}")
    with pytest.raises(DataError, match="answer"):
        env(data, prompt_template="{{ item['answer'] }}").load()
    shown = env(data, prompt_template="{{ item | string }}")
    assert "'answer'" not in shown.task_text(shown.load().train[0])


@pytest.mark.parametrize(
    "template", ["{{ ''.__class__.__mro__ }}", "{{ text.__init__.__globals__ }}", "{{ item.update({'a': 1}) }}"]
)
def test_templates_are_sandboxed(data: Path, template: str) -> None:
    with pytest.raises(DataError, match="prompt_template"):
        env(data, prompt_template=template).load()


def test_a_template_syntax_error_is_one_line(data: Path) -> None:
    with pytest.raises(ConfigError, match=r"prompt_template, line 2") as caught:
        env(data, prompt_template="{{ text }}\n{% if %}")
    assert "\n" not in str(caught.value)


def test_item_text_is_never_a_template(tmp_path: Path) -> None:
    rows = [{**row, "text": "{{ 7*7 }} {% raw %}"} | {"id": i} for i, row in enumerate(ROWS)]
    one = env(write(tmp_path / "t.json", rows))
    assert one.task_text(one.load().train[0]) == "Read: {{ 7*7 }} {% raw %}"


def test_answer_instruction_and_formats(data: Path) -> None:
    item = env(data).load().train[0]

    def system(**settings: Any) -> str:
        return str(env(data, **settings).messages(item, "")[0].content)

    assert "<answer>" in system()
    assert "<answer>" not in system(answer_format="last_line")
    assert system(answer_instruction="Say it.", system_prompt="Job.") == "Job.\n\nSay it."
    assert system(answer_instruction="", system_prompt="Job.") == "Job."


def test_missing_gold_and_duplicate_rows_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, [*ROWS, {"text": "x"}])))
    with pytest.raises(DataError, match=r"line 21.*'answer' is missing"):
        env(path).load()
    path = write(tmp_path / "b.jsonl", "\n".join(map(json.dumps, [*ROWS, ROWS[3]])))
    splits = env(path).load()
    assert sum(map(len, (splits.train, splits.selection, splits.test))) == len(ROWS)
    assert splits.manifest["warnings"] == ["the items: 1 exact copy of other rows left out"]
    path = write(tmp_path / "c.jsonl", "\n".join(json.dumps({"id": n % 19, **row}) for n, row in enumerate(ROWS)))
    with pytest.raises(DataError, match=r"stands twice: .*line \d+ .*line \d+"):
        env(path).load()


def test_scorer_checks_every_item_at_load(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "x", "answer": "many" if n == 7 else n} for n in range(20)]
    with pytest.raises(DataError, match=r"'7'.*'many'"):
        env(write(tmp_path / "n.json", rows), scorer={"name": "numeric"}).load()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prompt_templat": "x"}, "did you mean env.prompt_template"),
        ({"scorer": {"name": "numeric", "absolut": 1}}, "absolut"),
        ({"scorer": "exat"}, "exat"),
        ({"answer_format": "xml"}, "answer_format"),
        ({"prompt_template": ""}, "prompt_template"),
        ({"pass_threshold": 0}, "pass_threshold"),
    ],
)
def test_settings_are_strict(data: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        env(data, **settings)
    assert "\n" not in str(caught.value)


def test_generated_split_reads_back_to_the_same_ids(data: Path, tmp_path: Path) -> None:
    first = env(data, {"split_output_dir": str(tmp_path / "g")}).load()
    made = tmp_path / "g" / "jsonl_2-1-7_seed42"
    again = env(data, {"split_mode": "split_dir", "split_dir": str(made)}).load()
    assert [i.id for i in again.test] == [i.id for i in first.test]


def test_review_and_version(data: Path) -> None:
    item = env(data).load().train[0]
    review = env(data, {"max_turns": 2}).next_turn(item, [Turn("u", "<answer>5</answer>")])
    assert review is not None and str(item.data["text"]) in review
    assert env(data).version == env(data).version
    assert env(data).version != env(data, scorer={"name": "exact", "ignore_case": True}).version
    assert env(data).version == env(data, analyst_note="n").version
    assert env(data, analyst_note="n").prompt("analyst_error") == "n"
    assert env(data).prompt("analyst_error") is None


def make(tmp_path: Path, rows: list[dict[str, Any]], **settings: Any) -> Env:
    return env(write(tmp_path / "rows.json", rows), **settings)


async def test_a_gold_inside_another_field(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": f"Colour {n}?", "answers": {"text": [f"blue {n}", f"azure {n}"], "start": [n]}}
        for n in range(10)
    ]
    env = make(tmp_path, rows, prompt_template="{{ question }}", answer_field="answers.text")
    item = env.load().train[0]
    assert env.golds(item) == tuple(item.data["answers"]["text"])
    assert (await scored(env, item, f"<answer>{env.golds(item)[1]}</answer>")).hard == 1
    for template in ("{{ answers }}", "{{ answers.text }}"):
        with pytest.raises(ConfigError, match="gold field"):
            make(tmp_path, rows, prompt_template=template, answer_field="answers.text")
    with pytest.raises(DataError, match=r"'answers.words' is missing"):
        make(tmp_path, rows, prompt_template="{{ question }}", answer_field="answers.words").load()


def test_values_that_are_no_text_are_shown_as_json_and_null_as_nothing(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "q": f"{n}?", "box": {"a": [1, True], "b": None}, "none": None, "yes": True, "answer": "x"}
        for n in range(10)
    ]
    env = make(tmp_path, rows, prompt_template="{{ q }}|{{ box }}|{{ none }}|{{ yes }}")
    assert env.task_text(env.load().train[0]).partition("?")[2] == '|{"a": [1, true]}||true'
