"""`benchmarks/real_tasks.py`: the line of a finished run, and the table of lines."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.real_tasks import SIZES, line_of, prepare, steps_of, table
from skillopt.testing.trees import tree

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


def test_a_run_is_prepared_again_as_it_was(tmp_path: Path) -> None:
    """Killed at any moment and given again: the same items and configuration, and no file is left half written."""
    data, place = tmp_path / "data", tmp_path / "place"
    examples = [{"input": f"Question {n}?", "target": f"({'AB'[n % 2]})"} for n in range(170)]
    (data / "bbh").mkdir(parents=True)
    (data / "bbh" / "hyperbaton.json").write_text(json.dumps({"examples": examples}), encoding="utf-8")
    config = prepare("adjectives", "factorial", 4, place, data)
    before = tree(place)
    (place / "data" / "val" / "items.json").write_text("[", encoding="utf-8")  # as a power failure might
    config.write_text("", encoding="utf-8")
    prepare("adjectives", "factorial", 4, place, data)
    assert tree(place) == before
    splits = [json.loads(before[f"data/{split}/items.json"]) for split in SIZES]
    assert [len(rows) for rows in splits] == list(SIZES.values())
    assert len({row["id"] for rows in splits for row in rows}) == sum(SIZES.values())
