"""A run on labels reports macro-F1 and the confusion table, from its own rows."""

from __future__ import annotations

from pathlib import Path

import skillopt
from skillopt import scorers
from skillopt.records.beside.label_table import NONE, label_tables

WORDS = ("spam", "ham", "eggs")


def test_a_run_on_labels_reports_macro_f1_and_the_confusion_table(tmp_path: Path) -> None:
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
