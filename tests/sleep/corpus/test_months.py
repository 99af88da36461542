"""Three synthetic months of the two hundred that `benchmarks/sleep_corpus` measures; all of them: `make test-slow`."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from benchmarks.sleep_corpus.mining import Counts, measure
from benchmarks.sleep_corpus.nights import CHARACTERS, known
from benchmarks.sleep_corpus.nights import measure as night_of


def _sums(months: list[Counts], name: str) -> float:
    pairs = [getattr(month, name) for month in months]
    return sum(a for a, _ in pairs) / sum(b for _, b in pairs)


def _hold(months: list[Counts]) -> None:
    assert [month.leaked for month in months] == [0] * len(months)
    assert [month.poisoned for month in months] == [0] * len(months)
    assert _sums(months, "precision") > 0.9
    assert _sums(months, "pair_precision") > 0.95
    assert _sums(months, "recall") > 0.65


def test_s26_months_are_mined_without_secrets_and_without_the_planted_order() -> None:
    _hold([measure(seed) for seed in range(3)])


@pytest.mark.slow_campaign
def test_s26_two_hundred_months() -> None:
    _hold([measure(seed) for seed in range(200)])


@pytest.mark.thorough
def test_s26_a_month_with_a_planted_order_adopts_nothing_of_it(tmp_path: Path) -> None:
    seed = next(n for n in range(100) if Random(f"optimizer {n}").choice(CHARACTERS) == "poisoned")
    row = night_of(seed)
    assert (row["poison"], row["false"], row["adopted"]) == (0, 0, 0)
    half_written = tmp_path / "rows.jsonl"
    half_written.write_text(json.dumps(row) + '\n{"seed": 4, "char')
    assert known(half_written) == {seed: row}
