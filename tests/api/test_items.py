"""Rule 4 and what a program may hold items in."""

from __future__ import annotations

import dataclasses
import json
import random
import sqlite3
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import skillopt
from skillopt.api.given.cut import cut_for
from skillopt.api.given.items import held_items, template_for
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLITS
from skillopt.envs.data.splits import split_sizes
from skillopt.forecast.planned import Plan
from skillopt.gate.alpha import level_of
from skillopt.gate.power import detectable_gain, never_passes
from tests.api.conftest import ITEMS


def plan(items: Any = None, **more: Any) -> Plan:
    return skillopt.plan(items, **{"scorer": "exact", "target": "scripted", **more})


@pytest.mark.parametrize("name", ["none.csv", "none"])
def test_a_path_that_is_not_there_is_what_the_error_is_about(name: str, tmp_path: Path):
    with pytest.raises(DataError, match=rf"{name}: no such file or directory"):
        plan(str(tmp_path / name))


def sizes(forecast: Plan) -> tuple[int, int, int]:
    return forecast.sizes.train, forecast.sizes.selection, forecast.sizes.test


class Frame:
    """What is asked of a data frame: pandas' and polars' own methods."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.columns = rows, list(rows[0])


class Pandas(Frame):
    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [{**row, "note": float("nan")} for row in self.rows]


class Polars(Frame):
    def to_dicts(self) -> list[dict[str, Any]]:
        return self.rows


def test_a_list_is_cut_by_content_and_seed() -> None:
    rows = [{"question": f"q{n}", "answer": str(n)} for n in range(50)]
    one = held_items(rows, 42)
    mixed = random.Random(1).sample(rows, len(rows))
    assert [len(one.rows[split]) for split in SPLITS] == [15, 15, 20]
    assert held_items(mixed, 42).digest == one.digest
    assert held_items(rows, 43).digest != one.digest
    ids = [row.data["id"] for split in SPLITS for row in one.rows[split]]
    assert len(set(ids)) == 50 and all(len(str(name)) == 16 for name in ids)


@pytest.mark.parametrize(
    ("count", "words", "sizes"),
    [(12, "4:5:3", (4, 5, 3)), (17, "3:3:4", (5, 5, 7)), (60, "3:3:4", (18, 18, 24)), (530, "2:1:7", (106, 53, 371))],
)
def test_a_list_is_cut_so_that_its_selection_split_can_prove_something(
    count: int, words: str, sizes: tuple[int, int, int]
) -> None:
    cut = cut_for(count)
    assert (cut.words, cut.sizes) == (words, sizes) and split_sizes(count, cut.ratio) == sizes
    assert not never_passes(cut.sizes[1], level_of(0.05, 1)), "five wins and no loss are a proof"
    forecast = plan([{"question": f"q{n}", "answer": str(n)} for n in range(count)])
    assert forecast.gate_notes[0] == f"items cut {words}: {cut.reason}"


@given(st.integers(12, 4000))
def test_every_cut_is_whole_and_can_prove_something(count: int) -> None:
    cut = cut_for(count)
    assert sum(cut.sizes) == count and min(cut.sizes) >= 3 and cut.sizes[1] >= 5
    assert cut.words == "2:1:7" or cut.sizes[1] <= 159, "more are not needed"


def test_whatever_holds_items(tmp_path: Path) -> None:
    typed = [skillopt.Item(row["id"], row, task_type="odd" if n % 2 else "even") for n, row in enumerate(ITEMS)]
    for items in (ITEMS, (row for row in ITEMS), typed, Pandas(ITEMS), Polars(ITEMS)):
        assert sizes(plan(items)) == (12, 12, 16), type(items)
    (tmp_path / "items.json").write_text(json.dumps(ITEMS))
    for path in ("items.json", tmp_path / "items.json"):
        assert sizes(plan(path)) == (12, 12, 16)
    assert sizes(plan(train=ITEMS[:10], selection=ITEMS[10:20], test=ITEMS[20:])) == (10, 10, 20)
    items = [skillopt.Item(row["id"], row) for row in ITEMS]
    assert sizes(plan(skillopt.Splits(tuple(items[:10]), tuple(items[10:20]), tuple(items[20:])))) == (10, 10, 20)
    assert not list(tmp_path.glob("outputs")), "a plan writes nothing"


@dataclasses.dataclass
class Task:
    question: str
    answer: str
    due: date = date(2026, 3, 1)


class Pair(NamedTuple):
    question: str
    answer: str


class Checked(BaseModel):
    question: str
    answer: str


class Arrow(Frame):
    def to_pylist(self) -> list[dict[str, Any]]:
        return self.rows


class Lazy(Frame):
    def collect_schema(self) -> None: ...

    def collect(self) -> Polars:
        return Polars(self.rows)


@pytest.mark.parametrize("made", [Task, Pair, Checked])
def test_rows_with_named_fields_are_items(made: Callable[..., object]) -> None:
    held = held_items([made(question=row["question"], answer=row["answer"]) for row in ITEMS], 42)
    found = {(row.data["question"], row.data["answer"]) for split in SPLITS for row in held.rows[split]}
    assert found == {(row["question"], row["answer"]) for row in ITEMS}
    if made is Task:
        assert held.rows["test"][0].data["due"] == "2026-03-01"


def test_rows_of_a_database_and_tables_of_other_libraries_are_items() -> None:
    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    base.execute("create table tasks (id, question, answer)")
    base.executemany("insert into tasks values (:id, :question, :answer)", ITEMS)
    for items in (base.execute("select * from tasks"), Arrow(ITEMS), Lazy(ITEMS)):
        assert held_items(items, 42).digest == held_items(ITEMS, 42).digest, type(items)


def test_values_of_other_libraries_become_those_of_json() -> None:
    odd = {"n": numpy.int64(3), "x": numpy.float32(0.5), "ok": numpy.bool_(True), "v": numpy.arange(2), "t": (1, 2),
           "cost": Decimal("2.50"), "at": datetime(2026, 3, 1, 12), "file": Path("a/b"),
           "nan": float("nan")}  # fmt: skip
    held = held_items([{**row, **odd} for row in ITEMS], 42)
    row = held.rows["train"][0].data
    assert {name: row[name] for name in odd} == {
        "n": 3, "x": 0.5, "ok": True, "v": [0, 1], "t": [1, 2], "cost": 2.5, "at": "2026-03-01T12:00:00", "file": "a/b",
        "nan": None,
    }  # fmt: skip


def test_copies_in_a_list_are_left_out_and_told() -> None:
    forecast = plan([*ITEMS, *ITEMS[:2]])
    assert sizes(forecast) == (12, 12, 16)
    assert "the items: 2 exact copies of other rows left out" in forecast.warnings


@pytest.mark.parametrize("count", [0, 1, 11])
def test_too_few_items_are_refused_with_what_they_could_show(count: int, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^{count} item") as caught:
        plan(ITEMS[:count])
    assert "12 or more" in caught.value.hint
    if count == 11:
        assert detectable_gain(3) == 1 and "3 of them in the sealed test: no gain at all can be shown" in str(
            caught.value
        )
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ITEMS[:count]))
    with pytest.raises(DataError):
        plan(tmp_path / "few.jsonl")


def test_what_is_wrong_with_items_is_one_line() -> None:
    wrong: list[tuple[Any, str]] = [
        ([*ITEMS, "text"], r"items\[40\] is str"),
        ([*ITEMS, {"question": "q", "answer": {1, 2}}], r"items\[40\]: field 'answer' has no JSON form"),
        ([*ITEMS, {"question": "q", "answer": float("inf")}], r"items\[40\]: field 'answer' has no JSON form"),
        ([*ITEMS, {**ITEMS[0], "question": "another"}], "item id 'box-0' stands twice"),
        (42, "items cannot be int"),
        ("", "items is a blank text"),
        ({"a": 1}, "items cannot be dict"),
    ]
    for items, words in wrong:
        with pytest.raises(DataError, match=words):
            plan(items)
    with pytest.raises(ConfigError, match="either items, or all of"):
        plan(ITEMS, train=ITEMS)
    with pytest.raises(ConfigError, match="either items, or all of"):
        plan(train=ITEMS, test=ITEMS)
    with pytest.raises(DataError, match="train= holds no items"):
        plan(train=[], selection=ITEMS[:20], test=ITEMS[20:])
    with pytest.raises(ConfigError, match="budget: unknown cap 'dollars'"):
        plan(ITEMS, budget={"dollars": 1})
    with pytest.raises(ConfigError, match=r"unknown key train\.batchsize.*train\.batch_size"):
        plan(ITEMS, overrides={"train.batchsize": 3})


def test_the_prompt_that_items_suggest() -> None:
    assert template_for([{"id": 1, "answer": 2, "odd name": "x"}], ["answer"]) == "{{ item['odd name'] }}"
    assert template_for([{"context": "c", "question": "q", "answer": 2}], ["answer"]) == "{{ question }}"
    with pytest.raises(DataError, match=r"which field is the task.*share left, right"):
        template_for([{"left": 1, "right": 2, "answer": 3}, {"left": 1, "right": 2, "more": 4}], ["answer"])
    with pytest.raises(DataError, match="which field"):
        plan([{"a": n, "b": n, "answer": n} for n in range(20)])
    both = [{"a": f"q{n}", "b": f"c{n}", "answer": str(n)} for n in range(20)]
    assert sizes(plan(both, prompt="{{ a }} {{ b }}")) == (6, 6, 8)


def test_a_function_judges_items_without_an_answer_field() -> None:
    rows = [{"question": f"q{n}", "label": str(n)} for n in range(20)]
    with pytest.raises(DataError, match="field 'answer' is missing"):
        plan(rows)
    assert sizes(plan(rows, scorer=lambda answer, item: answer == item["label"], prompt="{{ question }}")) == (6, 6, 8)


def test_conversations_and_copies_in_a_list() -> None:
    from skillopt.api.given.items import held_items

    chats = [
        {"messages": [{"role": "user", "content": f"{n % 20} + 1?"}, {"role": "assistant", "content": str(n % 20 + 1)}]}
        for n in range(40)
    ]
    held = held_items(chats, 42)
    rows = [row.data for part in held.rows.values() for row in part]
    assert len(rows) == 20 and all(set(row) == {"id", "question", "answer"} for row in rows)
    assert {row["answer"] for row in rows} == {str(n + 1) for n in range(20)}


def many() -> list[dict[str, object]]:
    return [{"question": f"{n}+1?", "answer": str(n + 1)} for n in range(60)]


@pytest.mark.parametrize("text", ["", " ", "openai:", "openai: ", ":gpt-5.4", ":"])
@pytest.mark.parametrize("role", ["target", "optimizer"])
def test_half_a_model_is_no_wish_for_the_default_one(role: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{role}={text!r} names no (backend|model). write backend:model"):
        skillopt.plan(many(), scorer="exact", **{"target": "scripted", role: text})


@pytest.mark.parametrize("folders", [False, True])
@pytest.mark.parametrize("own_words", [False, True])
def test_the_target_is_told_the_word_for_a_question_without_an_answer(
    tmp_path: Path, folders: bool, own_words: bool
) -> None:
    from skillopt.api.given.arguments import Arguments
    from skillopt.api.given.request import request

    rows = [
        {"context": f"Ann is {n}.", "question": f"Who is {n}?", "answers": [f"Ann {n}"] if n % 3 else [],
         "is_impossible": n % 3 == 0} for n in range(30)
    ]  # fmt: skip
    for place in [tmp_path / "data" / name for name in ("train", "val", "test")] if folders else [tmp_path / "data"]:
        place.mkdir(parents=True)
        (place / "items.json").write_text(json.dumps(rows))
    overrides = {"env.answer_field": "answers"} | ({"env.system_prompt": "Mine."} if own_words else {})
    asked = Arguments(
        items=tmp_path / "data", target="scripted", scorer="exact", prompt="{{ context }} {{ question }}",
        overrides=overrides,
    )  # fmt: skip
    told = request(asked).resolved.config.env_settings.model_dump()["system_prompt"]
    default = "You solve tasks of one kind. Read the task and answer it."
    assert told == ("Mine." if own_words else f"{default} Where the text holds no answer, answer: unanswerable.")
