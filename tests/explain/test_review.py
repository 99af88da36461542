"""A person's review of a skill's changes: decisions are kept, and a changed text is measured before it is a version."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillopt.api.explaining import blame
from skillopt.api.exporting import export
from skillopt.api.reviewing import decide, measure, review
from skillopt.cli.main import invoke
from skillopt.core.errors import DataError, RunDirError
from skillopt.core.skill import Skill
from skillopt.explain.skill_ref import named_skill
from skillopt.records.reading import open_run
from skillopt.store.lock import RunLock
from tests.explain.toy_runs import run, write_project
from tests.records.recorded import NOW


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("review")
    return run(write_project(root, train__num_epochs=1), root / "run")


def test_a_changed_text_is_a_version_after_it_was_measured(made, capsys):
    before = {p: p.read_bytes() for p in made.glob("*.md")}
    seen = review(made)
    first, *_, last = (change.worth.name for change in seen.changes)
    assert all(change.items and change.verdict and change.decision is None for change in seen.changes)
    record = decide(made, {first: ("change", "- Mine.\n- And mine."), last: "refuse"}, by="Ada", note="too narrow")
    assert not record.accepted and open_run(made).reviewed is None
    with pytest.raises(RunDirError, match="no reviewed skill"):
        named_skill(f"{made}@reviewed")
    measured = measure(made)
    text = open_run(made).reviewed
    place = made / "review" / "reviewed_skill.md"
    place.write_text(text.text + "- Slipped in.\n")  # bytes that nobody measured are no version
    assert open_run(made).reviewed is None
    place.write_text(text.text)
    assert measured.accepted and measured.measurement.reviewed_hash == text.hash
    assert measured.measurement.difference.n == 12 and measured.measurement.reviewed.n == 12
    assert "- Mine.\n- And mine." in text.text and seen.changes[-1].worth.lines[0] not in text.text
    assert {p: p.read_bytes() for p in made.glob("*.md")} == before  # nothing of the training run is touched
    assert named_skill(f"{made}@reviewed").skill == text
    blamed = blame(f"{made}@reviewed")
    assert "changed in review by Ada" in str(blamed)
    assert export(f"{made}@reviewed", made.parent / "out").provenance.gain is None
    assert invoke(["review", str(made)]) == 0
    said = capsys.readouterr().out
    assert "decided: refuse (Ada" in said and "@reviewed" in said
    other = decide(made, {first: "accept"}, by="Bob")  # another text than the one that was measured
    assert not other.accepted and other.measurement is None and open_run(made).reviewed is None
    assert other.of(last).by == "Ada" and other.of(first).by == "Bob"


def test_accepting_all_leaves_the_best_skill_and_asks_nothing(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    names = [change.worth.name for change in review(root).changes]
    record = decide(root, dict.fromkeys(names, "accept"), by="Ada")
    assert record.accepted and record.measurement is None and not record.changes
    assert review(root).text == open_run(root).best.text


def test_decisions_that_cannot_be_carried_out_are_one_line(tmp_path, capsys):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    name = review(root).changes[0].worth.name
    for decision, words in (
        ({"step_0099/edit_1": "refuse"}, "no change of this skill"),
        ({name: ("change", "  \n")}, "is empty"),
        ({name: ("change", "a <!-- SLOW_UPDATE_START -->")}, "protected region"),
        ({name: ("change", "a \x07 bell")}, "control character"),
        ({name: ("change", "a \u202e mark")}, "control character"),
    ):
        with pytest.raises(DataError, match=words):
            decide(root, decision)
    assert open_run(root).review is None
    with pytest.raises(DataError, match="nothing was decided"):
        measure(root)
    assert invoke(["review", str(root), "--change", name]) == 2
    assert "--change NAME=FILE" in capsys.readouterr().err


def test_decisions_that_come_at_once_are_all_kept_or_told_and_none_during_a_measuring(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    names = [change.worth.name for change in review(root).changes]

    def one(name: str) -> str | None:
        try:
            decide(root, {name: "accept"}, by="Ada")
            return name
        except (DataError, RunDirError):
            return None

    with ThreadPoolExecutor(8) as pool:
        kept = {name for name in pool.map(one, names * 4) if name}
    assert {each.origin for each in open_run(root).review.decisions} == kept
    with RunLock(root / "review/measured"), pytest.raises(DataError, match="is being measured"):
        decide(root, {names[0]: "refuse"})


def test_a_review_of_an_earlier_best_skill_is_said_to_be_one(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    decide(root, {review(root).changes[0].worth.name: "accept"})
    shutil.copy(root / "skills/skill_v0002.md", root / "best_skill.md")
    seen = review(root)
    assert seen.outdated and all(change.decision is None for change in seen.changes)
    assert Skill(seen.text) == open_run(root).best
