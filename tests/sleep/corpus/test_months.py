"""Three synthetic months of the two hundred that `benchmarks/sleep_corpus` measures; all of them: `make test-slow`."""

from __future__ import annotations

import pytest

from benchmarks.sleep_corpus.mining import Counts, measure


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
