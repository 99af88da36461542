"""Files as people have them: separators, encodings, shapes, conversations, Parquet; and what is said of each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt.core.errors import DataError
from skillopt.envs.data.loading import read_items, read_rows
from skillopt.envs.data.own import own_rows, reshaped
from skillopt.envs.data.rows import ItemFile, Row
from tests.envs.conftest import shared

ROWS = [{"text": 'say "hi", you; “é”', "label": "a|b"}, {"text": "two\nlines\tand a tab", "label": "5,5"}]


def data(path: Path) -> list[dict[str, Any]]:
    return [dict(row.data) for row in read_rows(path)]


def table(rows: list[dict[str, str]], separator: str, end: str = "\r\n") -> str:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if any(c in text for c in f'{separator}"\n\r') else text

    return (
        end.join(separator.join(map(cell, line)) for line in [list(rows[0]), *(list(r.values()) for r in rows)]) + end
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_table_in_every_separator_and_encoding(tmp_path: Path, separator: str, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_bytes(table(ROWS, separator).encode(encoding))
    found = read_items(path)
    assert [dict(row.data) for row in found.rows] == ROWS
    said = " ".join(found.notes)
    assert ("separated by" in said) == (separator != ("," if name == "t.csv" else "\t"))
    assert ("Windows-1252" in said) == (encoding == "cp1252") and ("“é”" in said) == (encoding == "cp1252")


CELLS = st.text(alphabet="ab ,;\t|\"\n'é0.", min_size=1, max_size=8).filter(lambda text: bool(text.strip()))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=6), st.sampled_from(",;\t|"))
def test_what_was_written_is_read(tmp_path: Path, cells: list[tuple[str, str]], separator: str) -> None:
    rows = [{"the text": one, "its label": two} for one, two in cells]
    (tmp_path / "t.csv").write_text(table(rows, separator), encoding="utf-8", newline="")
    assert data(tmp_path / "t.csv") == rows


@pytest.mark.parametrize(
    ("text", "rows", "said"),
    [
        ("q,a\n\n1+1,2\n,\n , \n2+2,4\n", [{"q": "1+1", "a": "2"}, {"q": "2+2", "a": "4"}], "2 blank rows"),
        ("sep=;\nq;a\nx;1\n", [{"q": "x", "a": "1"}], "semicolons"),
        ("q;a\none, two;1,5\nthree;2\n", [{"q": "one, two", "a": "1,5"}, {"q": "three", "a": "2"}], "semicolons"),
        ("good\t1\nbad\t0\nfine\t1\n", [
            {"column_1": "good", "column_2": "1"}, {"column_1": "bad", "column_2": "0"},
            {"column_1": "fine", "column_2": "1"}], "tabs"),
        (",q,a\n0,x,1\n1,y,2\n", [{"q": "x", "a": "1"}, {"q": "y", "a": "2"}], "only numbers the rows"),
        ("q,a,\nx,1,\ny,2,\n", [{"q": "x", "a": "1"}, {"q": "y", "a": "2"}], ""),
        ("q\none\ntwo\n", [{"q": "one"}, {"q": "two"}], ""),
        ("q,a\n" + "x" * 200_000 + ",1\n", [{"q": "x" * 200_000, "a": "1"}], ""),
    ],
)  # fmt: skip
def test_tables_as_they_come(tmp_path: Path, text: str, rows: list[dict[str, str]], said: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = read_items(tmp_path / "t.csv")
    assert [dict(row.data) for row in found.rows] == rows
    assert said in " ".join(found.notes) and bool(found.notes) == bool(said)


PLAIN = [{"question": "q1", "answer": "a1"}, {"question": "q2", "answer": "a2"}]


@pytest.mark.parametrize(
    "value",
    [
        PLAIN,
        {"data": PLAIN},
        {"version": 1, "examples": PLAIN, "tags": ["x"]},
        {"rows": [{"row_idx": n, "row": row, "truncated_cells": []} for n, row in enumerate(PLAIN)]},
        [{"row": row} for row in PLAIN],
        {"question": ["q1", "q2"], "answer": ["a1", "a2"]},
        {"question": {"0": "q1", "1": "q2"}, "answer": {"0": "a1", "1": "a2"}},
        {"columns": ["question", "answer"], "index": [0, 1], "data": [["q1", "a1"], ["q2", "a2"]]},
    ],
)
def test_json_in_its_shapes(tmp_path: Path, value: object) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value))
    assert data(tmp_path / "t.json") == PLAIN
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(value).encode()))
    assert data(packed) == PLAIN


def test_json_lines_under_another_name_and_a_viewer_s_envelopes(tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, PLAIN))
    (tmp_path / "t.json").write_text(lines)
    assert data(tmp_path / "t.json") == PLAIN and "read as JSONL" in read_items(tmp_path / "t.json").notes[0]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"row_idx": n, "row": row}) for n, row in enumerate(PLAIN)))
    assert data(tmp_path / "t.jsonl") == PLAIN


def test_articles_become_questions(tmp_path: Path) -> None:
    asked = [
        {"id": "1", "question": "Colour?", "answers": [{"text": "blue", "answer_start": 4}, {"text": "blue"}]},
        {"id": "2", "question": "Size?", "answers": [], "is_impossible": True},
    ]
    squad = {"version": "2", "data": [{"title": "Sky", "paragraphs": [{"context": "The blue sky.", "qas": asked}]}]}
    (tmp_path / "s.json").write_text(json.dumps(squad))
    same = {"title": "Sky", "context": "The blue sky."}
    assert data(tmp_path / "s.json") == [
        {"id": "1", **same, "question": "Colour?", "answers": ["blue"]},
        {"id": "2", **same, "question": "Size?", "answers": [], "is_impossible": True},
    ]


@pytest.mark.parametrize(
    ("record", "item"),
    [
        ({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
                       {"role": "assistant", "content": "4"}], "id": 7},
         {"system": "Be brief.", "question": "2+2?", "answer": "4", "id": 7}),
        ({"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"},
                            {"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"}]},
         {"question": "User: Hi\n\nAssistant: Hello\n\nUser: 2+2?", "answer": "4"}),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": "2+2?"}]}], "ideal": "4"},
         {"question": "2+2?", "ideal": "4"}),
        ({"input": "2+2?", "ideal": "4"}, {"input": "2+2?", "ideal": "4"}),
        ({"messages": ["a", "b"], "answer": "4"}, {"messages": ["a", "b"], "answer": "4"}),
        ({"messages": [{"role": "user", "content": "Book 4"}, {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "book", "arguments": '{"room": 4}'}}]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"}, {"role": "assistant", "content": "Done."}]},
         {"question": 'User: Book 4\n\nAssistant: {"name": "book", "arguments": {"room": 4}}\n\nTool: ok',
          "answer": "Done."}),
        ({"messages": [{"role": "user", "content": "Book 4"}, {"role": "assistant", "content": None,
                        "function_call": {"name": "book", "arguments": "4"}}], "tools": []},
         {"question": "Book 4", "answer": {"name": "book", "arguments": 4}, "tools": []}),
        ({"id": "a", "question": {"stem": "Which?", "choices": [{"label": "1", "text": "x"}]}, "answerKey": "1"},
         {"id": "a", "question": "Which?", "answerKey": "1", "choices": [{"label": "1", "text": "x"}]}),
        ({"question": "Size?", "answers": [], "is_impossible": True},
         {"question": "Size?", "answers": ["unanswerable"], "is_impossible": True}),
        ({"question": "Size?", "answers": {"text": [], "answer_start": []}},
         {"question": "Size?", "answers": {"text": ["unanswerable"], "answer_start": [-1]}}),
        ({"question": "Size?", "answers": []}, {"question": "Size?", "answers": []}),
        ({"question": {"stem": 5}, "answers": ["a"]}, {"question": {"stem": 5}, "answers": ["a"]}),
    ],
)  # fmt: skip
def test_conversations_have_their_answer_apart(record: dict[str, Any], item: dict[str, Any]) -> None:
    assert dict(reshaped(record)) == item


def test_items_below_wrappers_of_wrappers_and_items_by_their_keys(tmp_path: Path) -> None:
    """One list of objects somewhere below is the items; objects that share their fields are items themselves."""
    path = tmp_path / "t.json"
    for wrapped in ({"meta": {"v": 1, "by": ["x"]}, "payload": {"result": {"records": PLAIN}}}, {"a": {"b": PLAIN}}):
        path.write_text(json.dumps(wrapped))
        assert data(path) == PLAIN
    keyed = {"q1": {"text": "a", "parts": [{"x": 1}]}, "q2": {"text": "b"}}
    path.write_text(json.dumps(keyed))
    assert data(path) == [{"id": "q1", **keyed["q1"]}, {"id": "q2", **keyed["q2"]}]
    path.write_text(json.dumps({"one": {"rows": PLAIN}, "two": {"lines": PLAIN}}))
    assert len(data(path)) == 2, "two lists: nobody knows which, so the keys are the items"


def test_unanswered_questions_are_told() -> None:
    rows = [Row({"question": str(n), "answers": [] if n else ["a"], "is_impossible": bool(n)}, "") for n in range(3)]
    assert own_rows(ItemFile(rows)).notes == (
        "2 of 3 questions have no answer in their text: the right answer is 'unanswerable'",
    )


def test_copies_are_left_out_with_a_count() -> None:
    rows = [Row({"q": str(n % 3)}, f"row {n}") for n in range(7)]
    found = own_rows(ItemFile(rows))
    assert [row.where for row in found.rows] == ["row 0", "row 1", "row 2"]
    assert found.notes == ("the items: 4 exact copies of other rows left out",)


def test_parquet(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    rows = [{"q": "x", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "image": b"png", "n": float("nan")}]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "t.parquet")
    found = read_items(tmp_path / "t.parquet")
    assert dict(found.rows[0].data) == {"q": "x", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "n": None}
    assert "hold bytes: image" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"q,a\n\x00\x01\x02,1\n", "no text file"),
        ("a.json", b"\xff\xfe{", "not"),
        ("a.json.gz", b"\x1f\x8bxx", "cannot be unpacked"),
        ("a.xlsx", b"PK", "export the sheet as CSV"),
        ("a.csv", b'q,a\n"open,1\n', "not valid CSV"),
        ("a.csv", b"q,a,b\nx,1\n", "has 2 cells"),
        ("a.json", b'["a", "b"]', "must be an object"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        read_rows(tmp_path / name)
    assert "\n" not in str(caught.value) and name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "count", "fields"),
    [
        ("banking77/test.csv", 3080, {"text", "category"}),
        ("uci_sentiment/yelp_labelled.txt", 1000, {"column_1", "column_2"}),
        ("bbh/hyperbaton.json", 250, {"input", "target"}),
        ("gsm8k/test_first_120.jsonl", 120, {"question", "answer"}),
        ("restaurant8k/test_sample_200.json", 200, {"userInput", "labels"}),
    ],
)
def test_published_files_are_read_as_they_are(name: str, count: int, fields: set[str]) -> None:
    rows = read_rows(shared(name))
    assert fields <= set(rows[0].data)
    assert len(rows) == count
