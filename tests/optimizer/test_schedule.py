"""Golden sequences of pipeline §8, bit for bit."""

from __future__ import annotations

import pytest

from skillopt.core.errors import ConfigError
from skillopt.optimizer.schedule import edit_budget, unrounded

GOLDEN = [
    ("cosine", 4, 2, 40, [4] * 13 + [3] * 13 + [2] * 14),
    ("linear", 4, 2, 40, [4] * 10 + [3] * 19 + [2] * 11),
    ("linear", 16, 2, 8, [14, 12, 11, 9, 7, 6, 4, 2]),
    ("cosine", 16, 2, 8, [15, 14, 12, 9, 6, 4, 3, 2]),
    ("linear", 8, 2, 8, [7, 6, 6, 5, 4, 4, 3, 2]),
    ("cosine", 8, 2, 8, [8, 7, 6, 5, 4, 3, 2, 2]),
    ("cosine", 4, 2, 4, [4, 3, 2, 2]),
    ("cosine", 4, 2, 8, [4, 4, 3, 3, 3, 2, 2, 2]),
    ("linear", 4, 2, 8, [4, 4, 3, 3, 3, 2, 2, 2]),
    ("cosine", 4, 2, 2, [3, 2]),
    ("linear", 4, 2, 2, [3, 2]),
    ("cosine", 5, 2, 2, [4, 2]),
    ("linear", 5, 2, 2, [4, 2]),
    ("cosine", 4, 2, 1, [4]),
    ("linear", 4, 2, 1, [4]),
    ("cosine", 1, 2, 4, [2, 2, 2, 2]),
    ("linear", 1, 2, 4, [2, 2, 2, 2]),
    ("constant", 4, 2, 3, [4, 4, 4]),
    ("constant", 1, 2, 3, [1, 1, 1]),
    ("autonomous", 4, 2, 2, [999, 999]),
]


@pytest.mark.parametrize(("name", "maximum", "minimum", "total", "sequence"), GOLDEN)
def test_golden_sequences(name, maximum, minimum, total, sequence):
    assert [edit_budget(name, s, total, maximum, minimum) for s in range(1, total + 1)] == sequence


def test_unrounded_values_of_the_published_example():
    values = [unrounded("cosine", s, 8, 8, 2) for s in range(1, 9)]
    assert [f"{v:.2f}" for v in values] == ["7.77", "7.12", "6.15", "5.00", "3.85", "2.88", "2.23", "2.00"]


def test_beyond_the_last_step_the_minimum_holds():
    assert edit_budget("cosine", 9, 8, 8, 2) == 2


def test_bad_arguments_are_named():
    with pytest.raises(ConfigError, match=r"optimizer\.lr_scheduler='cosin'.*constant, linear, cosine"):
        edit_budget("cosin", 1, 2, 4, 2)
    with pytest.raises(ValueError, match="step 0"):
        edit_budget("cosine", 0, 2, 4, 2)
