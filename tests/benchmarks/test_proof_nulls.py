"""The error of the rule `proof` where nothing helps, by its own gates: small counts here, the table in LOG.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.gate_simulation import campaign, simulate
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


def test_a_campaign_that_was_ended_goes_on_and_says_the_same(tmp_path: Path) -> None:
    keep, cell = tmp_path / "runs.jsonl", NOTHING_HELPS[2]
    campaign(cell, "proof", 12, 3, keep, 1)
    with keep.open("a") as file:
        file.write('{"cell": "edits tr')
    assert campaign(cell, "proof", 12, 6, keep, 2) == simulate(cell, "proof", 12, 6)
    assert len(keep.read_text().splitlines()) == 6
