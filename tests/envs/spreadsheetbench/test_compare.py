"""The official rule for cells, and where answers stand: the golden tables of the specification."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.envs.spreadsheetbench import compare
from skillopt.envs.spreadsheetbench.compare import BrokenWorkbook, Difference, differences, report, same
from skillopt.envs.spreadsheetbench.position import Area, cell_name, parse_position
from tests.envs.spreadsheetbench.books import workbook

EQUAL = [
    (1.004, 1.0), ("12", 12), (" 12 ", 12), ("1e3", 1000), (True, 1), ("", None), (0.125, 0.12), (2.675, 2.67),
    (time(9, 30), "09:30"), (time(9, 30, 15), time(9, 30, 59)), (datetime(2024, 1, 1, 13), datetime(2024, 1, 2, 1)),
    (datetime(2024, 1, 1), 45292), (None, None), ("", ""),
]  # fmt: skip
OTHER = [(1.006, 1.0), ("", 0), (None, 0), ("a", "A"), ("a", "a "), ("1,000", 1000), ("50%", 0.5), ("None", None)]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal(left: object, right: object) -> None:
    assert same(left, right) and same(right, left)


@pytest.mark.parametrize(("left", "right"), OTHER)
def test_not_equal(left: object, right: object) -> None:
    assert not same(left, right) and not same(right, left)


def test_a_day_is_excels_number() -> None:
    assert compare.normal(datetime(2024, 1, 1, 13)) == 45293


@pytest.mark.parametrize(
    ("text", "sheet", "cells"),
    [
        ("A1:B2", "", ["A1", "A2", "B1", "B2"]),
        ("$A$1:$B$2", "", ["A1", "A2", "B1", "B2"]),
        ("a1:b2", "", ["A1", "A2", "B1", "B2"]),
        ("B2:A1", "", ["A1", "A2", "B1", "B2"]),
        ("'My, Sheet'!C4", "My, Sheet", ["C4"]),
        ("Updated Data'!B5:B6", "Updated Data", ["B5", "B6"]),
        ("'It''s'!AA10", "It's", ["AA10"]),
    ],
)
def test_positions(text: str, sheet: str, cells: list[str]) -> None:
    (area,) = parse_position(text)
    assert area.sheet == sheet
    assert [cell_name(*cell) for cell in area.cells()] == cells


def test_several_areas_whole_columns_and_rows() -> None:
    assert parse_position("A1, 'S'!b:c,2:3") == (
        Area("", (1, 1), (1, 1)),
        Area("S", (2, 3), (1, 1_048_576)),
        Area("", (1, 16_384), (2, 3)),
    )


@pytest.mark.parametrize(
    "text", ["", " , ", "A", "12", "A1:", ":B2", "A0", "ZZZ1", "hello world", "A1:B2:C3", "Sheet1!"]
)
def test_what_is_no_position_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"it names no cell|is no range of cells|lies outside a sheet"):
        parse_position(text)


@given(st.integers(1, 16_384), st.integers(1, 1_048_576))
def test_a_name_is_read_back(column: int, row: int) -> None:
    (area,) = parse_position(cell_name(column, row))
    assert area.cells() == [(column, row)]


def test_differing_cells_are_named_once_with_both_values(tmp_path: Path) -> None:
    gold = workbook(tmp_path / "gold.xlsx", [(1, "x"), (2, None)])
    got = workbook(tmp_path / "got.xlsx", [(1, "y"), (3,), (None, "late")])
    found = differences(got, gold, parse_position("A1:B2,A1:B2"))
    assert found == [Difference("Data!A2", "3", "2"), Difference("Data!B1", "'y'", "'x'")]
    assert report(found) == "Data!A2: got 3, expected 2\nData!B1: got 'y', expected 'x'"
    assert "expected" not in report(found, with_gold=False)
    # A whole column compares the used cells of both sheets, so what stands below counts.
    assert [d.cell for d in differences(got, gold, parse_position("b:B"))] == ["Data!B1", "Data!B3"]
    assert [d.cell for d in differences(got, gold, parse_position("3:4"))] == ["Data!B3"]


def test_sheets(tmp_path: Path) -> None:
    gold = workbook(tmp_path / "gold.xlsx", [(1,)], title="One")
    got = workbook(tmp_path / "got.xlsx", [(1,)], title="Two")
    assert differences(got, gold, parse_position("A1")) == [Difference("sheet 'One'", "no such sheet", "a sheet")]
    with pytest.raises(OSError, match="has no sheet 'Three'"):
        differences(got, gold, parse_position("Three!A1"))
    book = openpyxl.load_workbook(gold)
    book.create_sheet("Two")
    book.save(gold)
    assert differences(gold, gold, parse_position("'One,Two'!A1")) == []  # a list means the first one


def test_formulas_are_not_evaluated(tmp_path: Path) -> None:
    gold, got = workbook(tmp_path / "gold.xlsx", [(1, 2)]), workbook(tmp_path / "got.xlsx", [(1, "=A1*2")])
    assert differences(got, gold, parse_position("B1")) == [Difference("Data!B1", "(empty)", "2")]


def test_broken_files(tmp_path: Path) -> None:
    gold, broken = workbook(tmp_path / "gold.xlsx", [(1,)]), tmp_path / "broken.xlsx"
    broken.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(BrokenWorkbook, match=r"broken.xlsx: is no workbook \(BadZipFile"):
        differences(broken, gold, parse_position("A1"))
    with pytest.raises(OSError, match=r"broken.xlsx: is no workbook"):  # the gold file: the data's fault
        differences(gold, broken, parse_position("A1"))


def test_a_workbook_is_opened_once_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gold, got = workbook(tmp_path / "gold.xlsx", [(1,)]), workbook(tmp_path / "got.xlsx", [(1,)])
    opened: list[str] = []
    plain = compare.open_values
    monkeypatch.setattr(compare, "open_values", lambda path: (opened.append(path.name), plain(path))[1])
    for _ in range(3):
        differences(got, gold, parse_position("A1,A2,B1:C9"))
    assert opened == ["got.xlsx", "gold.xlsx", "got.xlsx", "got.xlsx"]
