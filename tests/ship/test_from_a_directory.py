"""A run that starts from a skill's directory: SKILL.md is trained, the other files go along to the shipped package."""

from __future__ import annotations

import zipfile

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.core.errors import DataError, RunDirError
from skillopt.records.reading import open_run
from tests.explain.toy_runs import SKILL, run, write_project


def test_from_a_directory_to_a_package(tmp_path):
    place = tmp_path / "boxes"
    for name, text in {"SKILL.md": SKILL, "references/kinds.md": "kinds", "scripts/look.sh": "true\n"}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text.encode())
    (place / "scripts/look.sh").chmod(0o755)
    config = write_project(tmp_path / "project", train__num_epochs=1, env__skill_init=str(place))
    run(config, tmp_path / "run")
    found = open_run(tmp_path / "run")
    assert found.initial.text == SKILL
    done = skillopt.export(tmp_path / "run", "claude", project=tmp_path)
    assert (done.path / "references/kinds.md").read_text() == "kinds"
    assert (done.path / "scripts/look.sh").stat().st_mode & 0o100
    assert (done.path / "SKILL.md").read_bytes().startswith(SKILL.encode()[:60])
    (place / "references/kinds.md").write_text("other kinds")
    again = skillopt.export(tmp_path / "run", tmp_path / "again", project=tmp_path)
    assert (again.path / "references/kinds.md").read_text() == "kinds"  # as measured
    with pytest.raises(RunDirError, match="initial_skill"):
        run(config, tmp_path / "run")
    (place / "SKILL.md").unlink()
    with pytest.raises(DataError, match=r"no SKILL\.md in this directory"):
        run(config, tmp_path / "another")


def test_what_lies_beside_a_single_file_stays_there(tmp_path, monkeypatch):
    """`env.skill_init: SKILL.md` in a project: its data, its answers and its run are no part of the skill."""
    config = write_project(tmp_path, train__num_epochs=1, env__skill_init="SKILL.md")
    (tmp_path / "SKILL.md").write_bytes(SKILL.encode())
    (tmp_path / "notes").write_text("mine")
    monkeypatch.chdir(tmp_path)
    run(config, tmp_path / "run")
    done = skillopt.export(tmp_path / "run", "zip", project=tmp_path)
    assert {name.partition("/")[2] for name in zipfile.ZipFile(done.path).namelist()} == {"SKILL.md", "provenance.json"}


def test_the_files_go_along_from_wherever_it_is_called(tmp_path, monkeypatch):
    skill = tmp_path / "project/skill/references"
    skill.mkdir(parents=True)
    (skill.parent / "SKILL.md").write_bytes(SKILL.encode())
    (skill / "kinds.md").write_text("kinds")
    config = write_project(tmp_path / "project", train__num_epochs=1, env__skill_init="skill")
    monkeypatch.chdir(tmp_path / "project")
    run(config, tmp_path / "project/run")
    monkeypatch.chdir(tmp_path)
    done = skillopt.export("project/run", "claude", project=tmp_path)
    assert (done.path / "references/kinds.md").read_text() == "kinds"


@pytest.mark.parametrize("whole", [True, False])
def test_a_project_for_a_skill_that_one_has(tmp_path, capsys, whole):
    place = tmp_path / "boxes"
    (place / "scripts").mkdir(parents=True)
    (place / "SKILL.md").write_bytes(SKILL.encode())
    (place / "scripts/look.sh").write_text("true\n")
    (place / "scripts/look.sh").chmod(0o755)
    project = tmp_path / "project"
    skill = place if whole else place / "SKILL.md"
    assert invoke(["init", str(project), "--skill", str(skill), "--backend", "scripted"]) == 0
    start = project / ("skill/SKILL.md" if whole else "skill.md")
    assert start.read_bytes() == SKILL.encode()
    assert f"skill_init: {'skill' if whole else 'skill.md'}" in (project / "config.yaml").read_text()
    assert (project / "skill/scripts/look.sh").exists() == whole
    assert invoke(["init", str(tmp_path / "other"), "--skill", str(tmp_path)]) == 2
    assert "SKILL.md" in capsys.readouterr().err and not (tmp_path / "other").exists()
