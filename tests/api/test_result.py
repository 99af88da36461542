"""What a result says and how it shows itself, on a real run and on runs that older versions recorded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import skillopt
from skillopt.api.shown.notebook import MOST_BYTES, as_html, as_markdown
from skillopt.core.errors import ConfigError, DataError, RunDirError
from skillopt.records.directory import RunDir
from skillopt.records.reading import Run
from tests.api.conftest import ITEMS, SMALL

RECORDED = Path(__file__).parents[1] / "recorded" / "1b0a487"


def test_a_result_says_what_the_records_say(finished: skillopt.Result) -> None:
    summary = json.loads((finished.directory / "summary.json").read_text())
    assert finished.verdict == summary["verdict"] and finished.stopped is None
    assert finished.skill.text == (finished.directory / "best_skill.md").read_text() != finished.initial.text
    assert finished.test.before.hard == summary["baseline_test"]["hard"]
    assert finished.test.after.n == summary["test"]["n"] == 16
    assert finished.interval == tuple(summary["paired"]["interval"]) and finished.p == summary["paired"]["p"]
    assert finished.cost == 0.0 and len(finished.steps) == summary["total_steps"]
    body = json.loads(json.dumps(finished.to_dict()))
    assert body["summary"]["verdict"] == finished.verdict and body["skill"] == finished.skill.text


def test_the_lineage_is_the_chain_of_texts(finished: skillopt.Result) -> None:
    nodes = finished.lineage()
    names = [node.name for node in nodes]
    assert names[0] == "initial" and len(set(names)) == len(names)
    assert all(node.parent in names for node in nodes[1:])
    by_name = {node.name: node for node in nodes}
    assert all(by_name[node.parent].kept for node in nodes[1:]), "nothing is made from what was not kept"
    assert sum(node.kept for node in nodes) > 1


def test_blame_and_diff(finished: skillopt.Result) -> None:
    lines = finished.skill.text.split("\n")
    number = next(n for n, line in enumerate(lines, start=1) if "RULE" in line)
    blame = finished.blame(number)
    assert blame.text == lines[number - 1] and blame.cause.gate is not None and blame.cause.gate.changed_current
    assert "from step" in str(blame)
    with pytest.raises(DataError, match="there is no line 999"):
        finished.blame(999)
    diff = finished.diff()
    assert [line.text for hunk in diff.hunks for line in hunk if line.sign == "+" and "RULE" in line.text] == [
        line for line in lines if "RULE" in line
    ]


def test_in_a_notebook(finished: skillopt.Result) -> None:
    bundle = finished._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/markdown", "text/html"}
    after = finished.test.after
    assert after.hard is not None and after.interval is not None
    for text in bundle.values():
        assert finished.verdict.split(":")[0] in text
        assert f"{after.hard:.3f} on 16 of 16" in text and f"[{after.interval[0]:.3f}, " in text
        assert finished.causes() and all(cause.label in text for cause, _ in finished.causes())
        assert "accepted, new best" in text
    html = bundle["text/html"]
    assert (
        not re.search(r"<script|<link|<img|https?:|@import|url\(|\son\w+=", html) and len(html.encode()) <= MOST_BYTES
    )
    assert html.count("<ul>") == html.count("</ul>") and html.count("<div") == html.count("</div>") == 1
    assert "Lineage" in html and "best</b>" in html


def test_what_models_wrote_is_escaped_and_long_texts_are_cut(finished: skillopt.Result, tmp_path: Path) -> None:
    import shutil

    wild = "<script>alert(1)</script> | `` ``` ```` " + "x" * 500
    copy = tmp_path / "copy"
    shutil.copytree(finished.directory, copy)
    text = "\n".join([finished.skill.text, *(f"{n} {wild}" for n in range(3000))])
    for name in ("best_skill.md", *(f"skills/skill_v{step.step:04d}.md" for step in finished.steps[-1:])):
        (copy / name).write_text(text)
    result = skillopt.Result.load(copy)
    html = as_html(result)
    assert "<script" not in html and "&lt;script&gt;" in html and len(html.encode()) <= MOST_BYTES
    markdown = as_markdown(result)
    fence = re.search(r"^(`+)diff$", markdown, re.MULTILINE)
    assert fence is not None and len(fence[1]) == 5
    before, after = markdown.rsplit(f"\n{fence[1]}\n", 1)
    assert fence[0] in before and "Lineage:" in after and "`" not in after


def test_save_and_load(finished: skillopt.Result, tmp_path: Path) -> None:
    place = finished.save(tmp_path / "saved")
    assert sorted(p.name for p in place.iterdir()) == [
        "best_skill.md", "config.yaml", "report.md", "result.html", "result.json",
    ]  # fmt: skip
    assert json.loads((place / "result.json").read_text())["verdict"] == finished.verdict
    loaded = skillopt.Result.load(finished.directory)
    assert loaded.to_dict() == finished.to_dict()
    with pytest.raises(RunDirError, match="not in a run directory"):
        skillopt.Result.load(tmp_path / "saved")


def test_open_shows_the_page(finished: skillopt.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = finished.open()
    assert opened == [page.as_uri()] and page.read_text(encoding="utf-8") == finished._repr_html_()


@pytest.mark.parametrize("name", sorted(p.name for p in RECORDED.iterdir() if (p / "summary.json").is_file()))
def test_runs_of_an_older_version_show_themselves(name: str) -> None:
    result = skillopt.Result.load(RECORDED / name)
    bundle = result._repr_mimebundle_()
    assert all(result.verdict.split(":")[0] in text for text in bundle.values())
    assert result.lineage()[0].name == "initial" and result.config_yaml()


def test_a_run_that_has_not_ended_says_so(finished: skillopt.Result, tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "skill_v0000.md").write_text("")
    with pytest.raises(DataError, match="has not ended yet"):
        _ = replace(finished, run=Run(tmp_path)).verdict


def test_compare_pairs_the_sealed_tests(finished: skillopt.Result) -> None:
    found = skillopt.compare(a=finished, b=finished.directory)
    pair = found.table.pairs[0]
    assert (pair.a, pair.b, pair.n, pair.delta, pair.p) == ("a", "b", 16, 0.0, 1.0)
    assert "not distinguishable" in found._repr_mimebundle_()["text/html"]
    with pytest.raises(DataError, match="two runs or more"):
        skillopt.compare(finished)


def test_a_difference_prints_itself(finished: skillopt.Result) -> None:
    printed = str(finished.diff()).splitlines()
    assert printed[:3] == ["--- initial skill", "+++ best skill", "@@"]
    added = [line[1:] for line in printed[3:] if line.startswith("+")]
    assert [line for line in added if line] == [line for line in finished.skill.text.splitlines() if line]


def test_a_plan_prints_itself() -> None:
    forecast = skillopt.plan(ITEMS, scorer="exact", target="scripted", overrides=SMALL)
    shown = forecast._repr_mimebundle_()
    assert shown["text/plain"] == str(forecast)
    low, high = f"{forecast.calls.low:,.0f}", f"{forecast.calls.high:,.0f}"
    for text in shown.values():
        assert "12 train, 12 selection, 16 test" in text and f"{low} to {high}" in text and "sealed test" in text
    assert "<script" not in shown["text/html"] and "\n| --- | --- | --- | --- |\n" in shown["text/markdown"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"budget": "2"}, "budget cannot be str"),
        ({"budget": {"euro": 2}}, "unknown cap 'euro'"),
        ({"config": 3}, "config cannot be int"),
        ({"out": 3}, "out cannot be int"),
        ({"overrides": [1]}, "overrides cannot be list"),
    ],
)
def test_an_argument_of_another_type_is_one_line(more: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        skillopt.plan(ITEMS, scorer="exact", target="scripted", **more)


def test_a_run_killed_before_its_journal_was_there_goes_on(tmp_path: Path) -> None:
    for name in ("_given", "_generated_splits"):
        (tmp_path / name).mkdir()
        RunDir(tmp_path).check_own()
    (tmp_path / "mine.txt").touch()
    with pytest.raises(RunDirError, match="holds no run of ours"):
        RunDir(tmp_path).check_own()
