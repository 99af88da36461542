"""Whole packages: a script beside SKILL.md is trained, measured, kept, explained and shipped as the document's part."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.package import packaged
from skillopt.records.reading import open_run
from tests.engine.packages.task import EDITS, FILES, OTHER, SCRIPT, write_project
from tests.explain.toy_runs import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("packages")
    return run(write_project(place), place / "run")


def test_the_edit_of_a_script_is_measured_and_kept(trained):
    found = open_run(trained)
    assert found.summary is not None
    assert (found.summary.baseline_test.hard, found.summary.test.hard) == (0.0, 1.0)
    files = {file.path: file for file in found.best.files}
    assert files["scripts/thrice.py"].content == SCRIPT.replace("n * 2", "n * 3")
    assert files["scripts/thrice.py"].executable and not files["references/notes.md"].executable
    assert files["references/notes.md"].content == FILES["references/notes.md"] + "\nThey may be negative."
    assert set(files) == set(FILES) - {"SKILL.md", "assets/logo.txt"}


def test_an_edit_that_breaks_a_script_costs_no_rollout(trained):
    found = open_run(trained)
    (vetoed,) = json.loads((trained / "steps/step_0001/vetoed.json").read_text())
    assert vetoed["index"] == 2 and "scripts/other.sh" in vetoed["leaks"][0]["message"]
    assert {f.path: f.content for f in found.best.files}["scripts/other.sh"] == OTHER
    hashes = {row.skill_hash for row in found.rollouts("steps/step_0001/selection_eval").values()}
    assert hashes <= {found.best.hash}


def test_the_run_is_repeated_from_its_journal(trained, tmp_path):
    before = (trained / "best_skill.md").read_bytes()
    config = trained.parent / "config.yaml"
    assert invoke(["train", "--config", str(config), "--out_root", str(trained), "--replay"]) == 0
    assert (trained / "best_skill.md").read_bytes() == before


def test_the_whole_package_is_shipped(trained, tmp_path):
    done = skillopt.export(trained, tmp_path / "out", project=tmp_path)
    assert (done.path / "scripts/thrice.py").read_text() == SCRIPT.replace("n * 2", "n * 3")
    assert (done.path / "scripts/thrice.py").stat().st_mode & 0o100
    assert (done.path / "assets/logo.txt").read_text() == "logo\n"
    text = (done.path / "SKILL.md").read_text()
    assert text == FILES["SKILL.md"]
    told = json.loads((done.path / "provenance.json").read_text())
    assert told["skill_hash"] == open_run(trained).best.hash and told["gain"]["after"]["value"] == 1.0


def test_blame_diff_and_lint_know_the_files(trained, capsys):
    line = (trained / "best_skill.md").read_text().splitlines().index("    return n * 3") + 1
    assert invoke(["blame", f"{trained}/best_skill.md:{line}"]) == 0
    assert "step 1" in capsys.readouterr().out
    assert invoke(["diff", f"{trained}@initial", str(trained)]) == 0
    assert "return n * 3" in capsys.readouterr().out
    assert invoke(["lint", str(trained)]) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"skill_files": "scrpts/**=body"}, "fits no file"),
        ({"skill_files": "scripts/**=body", "skill_file_chars": 20}, "env.skill_file_chars is 20"),
        ({"skill_files": "scripts/**"}, "no rule PATTERN=POLICY"),
    ],
)
def test_what_cannot_be_trained_is_told_before_anything_is_spent(tmp_path, changes, words):
    with pytest.raises((ConfigError, DataError), match=words):
        run(write_project(tmp_path, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_chat_target_reads_no_other_file(tmp_path):
    with pytest.raises(ConfigError, match=r"a chat target reads SKILL\.md alone"):
        run(write_project(tmp_path), tmp_path / "run", model__target_agent="chat")


def test_the_files_of_another_skill_are_its_own(trained):
    """Two documents that differ in one byte of one file are two skills."""
    best = open_run(trained).best
    other = replace(best, text=best.text.replace("They may be", "They can be"))
    assert other.hash != best.hash
    assert [f.path for f in packaged(other.text)] == [f.path for f in best.files]
    assert EDITS[2]["content"] in best.text
