"""View models of recorded runs: what they say of items, flips, classes, course and worth agrees with the records."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from skillopt.api.looking import item, look
from skillopt.cli.main import invoke
from skillopt.core.errors import DataError
from skillopt.records.items import readable_name
from skillopt.records.reading import open_run
from skillopt.report.next_steps import next_steps
from skillopt.report.report import report_of
from skillopt.views.brief import brief
from skillopt.views.measurements import measurements
from tests.records.recorded import NOW, every_run
from tests.ship.test_export import said


@pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_rollout_directory_has_a_place_and_every_run_a_view(root):
    run = open_run(root)
    known = {m.directory for m in measurements(run)}
    assert known == {p.parent.relative_to(root).as_posix() for p in root.rglob("results.jsonl")}
    seen = look(root)
    assert len(seen.course) == 1 + len(run.steps) and seen.next_steps
    for record, point in zip(run.steps, seen.course[1:], strict=True):
        score = record.gate.candidate_gate_score
        assert (point.score is None) == (score is None)
        if score is not None and point.n == record.gate.selection_n:
            assert point.score == pytest.approx(score) and point.interval[0] <= point.score <= point.interval[1]
    summary = run.summary
    if summary is not None and summary.paired is not None and run.best != run.initial:
        on_test = {v.id: v.verdict for v in seen.items if v.split == "test"}
        assert {i for i, verdict in on_test.items() if verdict == "won"} == set(summary.paired.won)
        assert {i for i, verdict in on_test.items() if verdict == "lost"} == set(summary.paired.lost)
        assert "## Do this next" in report_of(run)


def test_a_run_that_has_not_ended_is_not_said_to_have_come_to_anything(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    (root / "summary.json").unlink()
    for found in (look(root), brief(open_run(root))):
        assert (found.headline, found.verdict) == ("The run has not ended", "The run has not ended.")
        assert found.status == "unfinished" and found.scores == () and "type the same command again" in str(found)
    whole, short = look(NOW / "strict"), brief(open_run(NOW / "strict"))
    assert (whole.headline, whole.scores, whole.verdict) == (short.headline, short.scores, short.verdict)
    assert len(whole.scores) == 3


def test_an_item_before_and_after_is_measured_on_those_very_skills():
    run = open_run(NOW / "paired")
    for name in ("box-42", "box-24", "box-1"):
        found = item(NOW / "paired", name)
        for answer, skill in ((found.before, run.initial), (found.after, run.best)):
            assert answer is None or answer.skill_hash == skill.hash
    lost = item(NOW / "paired", "box-42")
    assert lost.verdict == "lost" and lost.split == "test"
    assert (lost.before.score, lost.before.text, lost.after.score) == (1.0, "basil", 0.0)
    assert "expected 'basil'" in lost.after.reason


def test_items_are_found_by_what_people_type():
    assert item(NOW / "paired", "box-4").id == "box-4"
    with pytest.raises(DataError, match=r"48 items are called like that\. for example box-"):
        item(NOW / "paired", "box")
    with pytest.raises(DataError, match=r"no such item\. for example .*box-42"):
        item(NOW / "paired", "box-422")


@pytest.mark.parametrize(
    ("item_id", "question", "name"),
    [
        ("box-40", "What?", "box-40"),
        ("d9f4a1b2c3d4e5f6", "What is\n in it?", "What is in it? (d9f4a1b2)"),
        ("tasks-0123456789abcdef", "x" * 60, "x" * 47 + "… (01234567)"),
        ("d9f4a1b2c3d4e5f6", "", "d9f4a1b2c3d4e5f6"),
        ("deadbeefcafe", "What?", "deadbeefcafe"),
    ],
)
def test_names_are_readable(item_id, question, name):
    assert readable_name(item_id, question) == name


def test_matrices_hold_every_row_of_the_records():
    seen = look(NOW / "strict")
    rows = {m.directory: m for m in measurements(open_run(NOW / "strict"))}
    for matrix in seen.matrices:
        columns = [m for m in rows.values() if m.split == matrix.split]
        assert len(matrix.columns) == len(columns)
        asked = sum(cell.asked for row in matrix.cells for cell in row)
        assert asked == sum(len({r.id for r in m.rows}) for m in columns)


def test_the_tokens_that_the_skill_adds_are_measured():
    tokens = look(NOW / "paired").tokens
    assert tokens.before < tokens.after and tokens.added == round(tokens.after - tokens.before)
    assert look(NOW / "killed").tokens.before is None


def test_next_steps_say_no_more_than_the_verdict():
    for root in every_run():
        seen = look(root)
        told = " ".join(seen.next_steps)
        assert ("Ship it" in told) == seen.headline.startswith("Better")
        assert ("type the same command again" in told) == (seen.status != "finished"), root


def test_a_run_that_no_model_took_part_in_is_sent_to_one_and_not_to_more_items():
    run = open_run(NOW / "no_baseline")
    rejected = replace(run.summary, unproven_draft=None, stopped=None, baseline_selection_hard=0.0)
    for models, says in (({"target": "scripted", "optimizer": "scripted"}, "No model took part"),
                         ({"target": "scripted", "optimizer": "gpt-5.5"}, "stronger optimizer")):  # fmt: skip
        (told,) = next_steps(replace(rejected, models=models), run.steps, unchanged=True)
        assert says in told


def test_show_prints_the_run_and_an_item_with_its_right_answer(fresh, capsys):
    run = open_run(fresh)
    text = said(capsys, "show", fresh)
    for words in ("sealed test", "kept change", "tokens to each call", "Next: "):
        assert words in text
    some = next(iter(run.summary.paired.won))
    shown = said(capsys, "show", fresh, some)
    gold = run.items[some].golds[0]
    for words in (f"{some}  (test): won", f"right answer: {gold}", "initial skill", "conversation: ", "attempt"):
        assert words in shown
    body = json.loads(said(capsys, "show", fresh, some, "--json"))
    assert body["golds"] == [gold] and body["verdict"] == "won"
    assert json.loads(said(capsys, "show", fresh, "--json"))["headline"] == look(fresh).headline
    assert invoke(["show", str(fresh.parent)]) == 2


def test_a_view_of_a_run_whose_text_was_edited_has_no_worth_and_says_the_rest(tmp_path):
    shutil.copytree(NOW / "epochs", tmp_path / "run")
    (tmp_path / "run/best_skill.md").write_text("# mine\n")
    seen = look(tmp_path / "run")
    assert seen.worths == () and seen.items and seen.diff
