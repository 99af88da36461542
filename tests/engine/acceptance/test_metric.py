"""The configured metric everywhere: headline, table, interval, paired test and selection line of a soft run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.cli.console import Screen
from skillopt.cli.show import show_eval, show_result
from skillopt.records.beside.evaluation import EvalSummary
from skillopt.records.codec import decode
from skillopt.testing.toy import toy_item

ITEMS = [dict(toy_item(n)) for n in range(60)]


def half_right(answer: str, item: dict[str, Any]) -> dict[str, float]:
    """Nothing is ever wholly right; a good answer is worth 0.7, any other 0.3."""
    return {"hard": 0.0, "soft": 0.7 if answer == item["answer"] else 0.3}


def test_soft_scores_are_what_a_run_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = skillopt.optimize(
        train=ITEMS[:16], selection=ITEMS[16:32], test=ITEMS[32:], scorer=half_right, target="scripted",
        out=tmp_path / "run", gate="strict",
        overrides={"train.num_epochs": 1, "train.batch_size": 8, "evaluation.gate_metric": "soft"},
    )  # fmt: skip
    summary = result.summary
    assert summary.paired is not None and summary.paired.metric == "soft" and summary.paired.delta > 0
    assert summary.test.shown == summary.test.soft != summary.test.hard
    low, high = summary.test.interval or (0.0, 0.0)
    assert low < (summary.test.soft or 0.0) < high, "the interval is of the score beside it"
    report = (result.directory / "report.md").read_text()
    assert "| skill | soft | 95 % interval | hard |" in report and "two-sided p = " in report
    assert f"{100 * summary.paired.delta:+.1f} points on the sealed test" in report.splitlines()[0]
    show_result(Screen(), result.run)
    said = capsys.readouterr().out
    assert "sealed test (soft)" in said
    assert f"Selection score: {summary.baseline_selection.soft:.4f} → {summary.best_selection.soft:.4f}" in said
    assert "soft 0." in str(result)
    again = skillopt.compare(result, old=result.directory)
    assert again.table.scores[0].mean == pytest.approx(summary.test.soft), "runs are compared by their metric"


def test_soft_scores_are_what_an_evaluation_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = "RULE 1\nRULE 2\nRULE 3\nRULE 4"
    done = skillopt.evaluate(
        [dict(toy_item(n)) for n in range(200)], scorer=half_right, target="scripted", out=tmp_path / "eval",
        skills={"none": "", "rules": rules}, overrides={"evaluation.gate_metric": "soft"},
    )  # fmt: skip
    means = [score.mean or 0.0 for score in done.table.scores]
    assert 0.3 <= means[0] < means[1] <= 0.7, "no answer is wholly right, so a hard mean would be 0"
    assert done.table.pairs[0].words == "rules is better" and done.table.pairs[0].p < 0.05
    summary = decode(EvalSummary, json.loads((tmp_path / "eval/rules/eval_summary.json").read_text()), "eval_summary")
    split = next(iter(summary.splits.values()))
    assert summary.metric == split.metric == "soft" and split.shown == pytest.approx(means[1])
    assert split.interval is not None and split.interval[0] < means[1] < split.interval[1]
    assert all(part.shown is None or 0.3 <= part.shown <= 0.7 for part in split.by_task_type.values())
    show_eval(Screen(), summary)
    head, row = capsys.readouterr().out.splitlines()[:2]
    assert head.split()[:4] == ["split", "task", "type", "soft"] and f"{means[1]:.4f}" in row


def test_the_summary_of_all_splits_names_the_metric_too(tmp_path: Path) -> None:
    skillopt.evaluate(
        ITEMS, split="all", scorer=half_right, target="scripted", out=tmp_path / "eval", skills={"rules": "RULE 1"},
        overrides={"evaluation.gate_metric": "soft"},
    )  # fmt: skip
    (path,) = (tmp_path / "eval").rglob("eval_summary.json")
    summary = decode(EvalSummary, json.loads(path.read_text()), "eval_summary")
    assert [summary.metric, *(split.metric for split in summary.splits.values())] == ["soft"] * 4
