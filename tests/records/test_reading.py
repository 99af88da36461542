"""`open_run` on recorded runs of every state and version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skillopt.core.errors import RunDirError
from skillopt.records.reading import open_run
from skillopt.records.step_files import minibatches, proposed_edits
from skillopt.records.vocabulary import Action, Stage, Veto
from skillopt.store.lock import RunLock
from tests.records.recorded import FIRST, every_run


@pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_everything_of_a_recorded_run_can_be_read(root):
    run = open_run(str(root))
    assert [r.step for r in run.steps] == list(range(1, len(run.steps) + 1))
    assert run.state.last_completed_step == len(run.steps)
    assert run.initial.text and run.best.text and run.config["optimizer_model"]
    for record in run.steps:
        assert root.name == "killed" or (record.timing is not None and record.timing["rollout_s"] >= 0)
        assert len(record.vetoed) == record.n_edits_vetoed
        assert run.skill_after(record.step) is not None
        rows = run.rollouts(f"{run.step_dir(record.step)}/rollout")
        assert len(rows) == record.rollout_n
        assert {i for m in minibatches(run, record.step) for i in m.item_ids} <= set(rows)
    if run.status in ("finished", "stopped"):
        assert run.summary is not None and run.summary.total_steps == len(run.steps)


@pytest.mark.parametrize(
    ("name", "status"),
    [("strict", "finished"), ("stopped", "stopped"), ("no_baseline", "stopped"), ("killed", "unfinished")],
)
def test_how_far_a_run_came(name, status):
    assert open_run(FIRST / name).status == status


def test_a_run_that_is_being_written_is_running_and_looking_does_not_disturb_it(tmp_path):
    root = Path(shutil.copytree(FIRST / "strict", tmp_path / "run"))
    with RunLock(root):
        assert open_run(root).status == "running"
        with pytest.raises(RunDirError):
            RunLock(root)
    assert open_run(root).status == "finished"


def test_a_run_that_was_started_and_nothing_more(tmp_path):
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/skill_v0000.md").write_text("# Start\n")
    run = open_run(tmp_path)
    assert (run.status, run.steps, run.summary, run.epoch_results) == ("unfinished", (), None, ())
    assert run.best == run.initial and list(run.events()) == []


def test_vetoes_of_version_1_come_with_their_reasons():
    first = open_run(FIRST / "vetoed").steps[0]
    assert [v.reason for v in first.vetoed] == [Veto.FORM, Veto.LEAK]


def test_results_of_epoch_ends_in_their_order():
    results = open_run(FIRST / "paired").epoch_results
    assert [(r.epoch, r.stage) for r in results] == [
        (1, Stage.DRAFT_REVIEW), (1, Stage.SLOW_UPDATE), (1, Stage.META_SKILL),
        (2, Stage.DRAFT_REVIEW), (2, Stage.SLOW_UPDATE), (2, Stage.META_SKILL),
    ]  # fmt: skip
    slow = open_run(FIRST / "paired").epoch_result(Stage.SLOW_UPDATE, 2)
    assert slow is not None and slow.gate.action is Action.DRAFT and slow.comparison is not None
    assert slow.comparison.n_pairs == sum(slow.comparison.categories.values())


def test_proposed_edits_are_whole():
    run = open_run(FIRST / "strict")
    assert all(edit["op"] for record in run.steps for edit in proposed_edits(run, record.step))


def test_damaged_and_foreign_directories_are_named(tmp_path):
    root = Path(shutil.copytree(FIRST / "strict", tmp_path / "run"))
    (root / "history.json").write_text("[{")
    with pytest.raises(RunDirError, match=r"history\.json is damaged"):
        _ = open_run(root).steps
    (root / "history.json").write_text("{}")
    with pytest.raises(RunDirError, match=r"history\.json is damaged"):
        _ = open_run(root).steps
    with pytest.raises(RunDirError, match="not in a run directory"):
        open_run(tmp_path)


def test_the_run_of_a_file_in_it():
    assert open_run(FIRST / "strict/steps/step_0001/candidate_skill.md").root.name == "strict"
