"""The error of the rule `proof` where nothing helps, by its own gates: small counts here, the table in LOG.md."""

from __future__ import annotations

import pytest

from benchmarks.gate_simulation import simulate
from benchmarks.gate_world import NOTHING_HELPS


@pytest.mark.cases(1)
@pytest.mark.parametrize(("n", "runs"), [(12, 200), (24, 120), (50, 40)])
def test_a_run_without_any_true_gain_seldom_ships_something(n: int, runs: int) -> None:
    trading = NOTHING_HELPS[2]  # edits that trade five points for five: the cell that comes nearest to the level
    found = simulate(trading, "proof", n, runs)
    assert found["false_interval"][0] <= 0.05
    assert found["gain"] == pytest.approx(0.0, abs=1e-9)


def test_a_run_that_is_extended_eight_times_stays_within_the_level() -> None:
    found = simulate(NOTHING_HELPS[2], "proof, ended 8 times", 12, 40)
    assert found["false_interval"][0] <= 0.05
