"""`benchmarks/real_tasks.py`: the line of a finished run, and the table of lines."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.real_tasks import line_of, steps_of, table

SOLVED = Path(__file__).resolve().parents[1] / "recorded" / "2" / "solved"


def test_a_line_counts_the_calls_of_each_role_and_the_table_shows_it(tmp_path: Path) -> None:
    line = line_of("banking", "strict", 3, SOLVED)
    assert (line["target_calls"], line["optimizer_calls"]) == (44, 4)
    assert line["gain"] == 0.0 and line["unchanged"]  # everything was right from the start
    (tmp_path / "banking-strict-3.json").write_text(json.dumps(line), encoding="utf-8")
    assert "| banking | strict | 3 | 1.000 → 1.000 | +0.000 [" in table(tmp_path)


def test_every_rule_may_spend_the_same() -> None:
    assert steps_of("proof")["budget"] == steps_of("strict")["budget"] == {"max_calls": 480}
    assert steps_of("factorial")["train"]["num_epochs"] == 6  # 240 rollouts, 100 for the look, 120 for the test
