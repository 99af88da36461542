"""Thirty real tasks: the gold workbook scores 1, the untouched input does not, by the official rule."""

from __future__ import annotations

import pytest

from skillopt.core.item import Item
from skillopt.envs.data.loading import read_rows
from skillopt.envs.spreadsheetbench.dataloader import cases_of, to_item
from skillopt.envs.spreadsheetbench.preview import preview
from skillopt.envs.spreadsheetbench.work import compared
from tests.envs.conftest import SHARED

ROOT = SHARED / "spreadsheetbench"
FORMATTING = {"CF_8276", "570-43", "CF_4909", "193-42", "30468"}
"""Of these the untouched input passes some cases; the data's README names them."""

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"{ROOT}: the real items are not on this machine")


def items() -> list[Item]:
    return [to_item(row, ROOT) for row in read_rows(ROOT / "dataset.json")] if ROOT.is_dir() else []


def passes(item: Item, which: str) -> list[bool]:
    verdicts = [
        compared(ROOT / getattr(case, which), {"position": item.data["position"], "gold": str(ROOT / case.gold)})
        for case in cases_of(item)
    ]
    return [not verdict["fault"] for verdict in verdicts]


def test_all_of_them_are_read() -> None:
    read = items()
    assert len(read) == 30 and {len(cases_of(i)) for i in read} == {3}
    assert {i.task_type for i in read} == {"cell_level", "sheet_level"}
    assert preview(ROOT / cases_of(read[0])[0].given).startswith("Sheet '")


@pytest.mark.thorough
@pytest.mark.slow
def test_gold_is_right_and_the_untouched_input_is_not() -> None:
    """Ninety pairs of workbooks, some of them large: 6 s."""
    for item in items():
        assert all(passes(item, "gold")), item.id
        untouched = passes(item, "given")
        assert not all(untouched), item.id
        assert item.id in FORMATTING or not any(untouched), item.id
