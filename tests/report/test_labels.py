"""A run on labels reports macro-F1 and the confusion table, from its own rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skillopt
from skillopt import scorers
from skillopt.api.looking import view
from skillopt.cli.main import invoke
from skillopt.records.beside.evaluation import EvalSummary
from skillopt.records.beside.label_table import NONE, LabelTable, label_table, label_tables
from skillopt.records.rows import RolloutRow

WORDS = ("spam", "ham", "eggs")


def test_a_run_on_labels_reports_macro_f1_and_the_confusion_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [{"id": f"m{n}", "text": f"message {n} of {WORDS[n % 3]}", "answer": WORDS[n % 3]} for n in range(60)]

    async def target(messages: list[dict[str, str]]) -> str:
        """Takes eggs for ham, and says nothing of every message that ends in 7."""
        said = messages[-1]["content"]
        word = said.split()[-1]
        return "<answer>unsure</answer>" if "7 of" in said else f"<answer>{'ham' if word == 'eggs' else word}</answer>"

    model = skillopt.Model(target, version="1")
    skillopt.optimize(items, scorer=scorers.labels(*WORDS), target=model, optimizer="scripted", prompt="{{ text }}",
                      out=tmp_path / "run")  # fmt: skip
    table = label_tables(tmp_path / "run")[1]
    assert table is not None and table.total == table.right("spam") + table.right("ham") + table.right("eggs")
    assert table.f1("eggs") == 0 and table.counts.get(("eggs", "eggs"), 0) == 0
    none = sum(table.counts.get((word, NONE), 0) for word in WORDS)
    spam = table.counts["spam", "spam"]
    assert table.f1("spam") == 2 * spam / (table.right("spam") + spam) and table.given(NONE) == none
    assert abs(table.macro_f1 - sum(map(table.f1, WORDS)) / 3) < 1e-12
    report = (tmp_path / "run/report.md").read_text(encoding="utf-8")
    assert f"→ {table.macro_f1:.4f} on {table.total} items of the sealed test" in report
    assert "| **eggs** | 0 |" in report
    assert "## By label" in report
    _seen_on_screen_and_page(tmp_path / "run", table, capsys)


def _seen_on_screen_and_page(run: Path, table: LabelTable, capsys: pytest.CaptureFixture[str]) -> None:
    """`show`, its JSON and `view` have the figures of the report."""
    capsys.readouterr()
    assert invoke(["show", str(run)]) == 0
    shown = capsys.readouterr().out
    assert f"→ {table.macro_f1:.4f} on {table.total} items" in shown and "F1 best" in shown
    assert invoke(["show", str(run), "--json"]) == 0
    after = json.loads(capsys.readouterr().out)["labels"][1]
    assert after["macro_f1"] == table.macro_f1 and after["by_label"]["eggs"]["recall"] == 0
    assert after["by_label"]["ham"]["precision"] == table.counts["ham", "ham"] / table.given("ham")
    assert f"on {table.total} items" in view(run).read_text(encoding="utf-8")


@pytest.mark.thorough
def test_an_evaluation_on_labels_says_macro_f1_by_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The screen, `eval_summary.json` and the rows agree."""
    rows = [{"id": f"m{n}", "question": f"message {n} of {WORDS[n % 3]}", "answer": WORDS[n % 3]} for n in range(60)]
    (tmp_path / "items.json").write_text(json.dumps(rows))
    (tmp_path / "skill.md").write_text("Answer.\n")
    out = tmp_path / "out"
    env = {"name": "jsonl", "data_path": str(tmp_path / "items.json"), "out_root": str(out),
           "prompt_template": "{{ question }}", "scorer": {"name": "labels", "labels": list(WORDS)}}  # fmt: skip
    (tmp_path / "config.yaml").write_text(json.dumps({"env": env}))
    assert invoke(["eval", "--config", str(tmp_path / "config.yaml"), "--skill", str(tmp_path / "skill.md"), "--split",
                   "all", "--backend", "scripted"]) == 0  # fmt: skip
    shown = capsys.readouterr().out
    summary = EvalSummary.from_json(json.loads((out / "eval_summary.json").read_text()))
    for name, row in summary.splits.items():
        assert row.labels is not None and row.labels.n == row.n == sum(r.items for r in row.labels.by_label.values())
        assert f"Macro-F1 ({name}): {row.labels.macro_f1:.4f} on {row.n} answers" in shown
        found = label_table(RolloutRow.from_json(json.loads(line)) for line in (out / name / "results.jsonl").open())
        assert found is not None and found.scores == row.labels
