"""Export as a user does it: what the package holds, where it lies, what is refused, and what is claimed."""

from __future__ import annotations

import json
import os
import shutil
import zipfile

import pytest

import skillopt
from skillopt.api.explaining import lint
from skillopt.api.exporting import AGENTS, undo_export
from skillopt.cli.main import invoke
from skillopt.core.errors import DataError
from skillopt.core.skill import MARKERS
from skillopt.ship.package import without_region_marks
from tests.records.recorded import NOW, every_run
from tests.ship.conftest import tree

READ = {
    "claude": (".claude/skills",),
    "codex": (".agents/skills", ".codex/skills"),
    "copilot": (".agents/skills", ".claude/skills", ".github/skills"),
    "gemini": (".agents/skills", ".gemini/skills"),
    "opencode": (".agents/skills", ".claude/skills", ".opencode/skill", ".opencode/skills"),
}
"""Folders of a project in which each program was seen to find a skill."""


def said(capsys, *arguments: object, code: int = 0) -> str:
    capsys.readouterr()
    assert invoke([*map(str, arguments)]) == code
    out = capsys.readouterr()
    if code == 2:
        assert out.err.startswith("error: ") and out.err.count("\n") == 1
    return out.err if code == 2 else out.out


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_finds_the_package_and_nothing_else(agent, project):
    done = skillopt.export(NOW / "epochs", agent, project=project)
    found = [
        path.parent for folder in READ.get(agent, AGENTS[agent].reads) if (project / folder).is_dir()
        for path in (project / folder).rglob("*.md")
    ]  # fmt: skip
    assert found == [done.path] and done.path.name == "boxes"
    report = lint(done.path)
    assert report.findings == ()
    text = (done.path / "SKILL.md").read_text()
    assert not any(marker in text for marker in MARKERS)
    assert "RULE 6: when a box is of kind 6" in text and "RULE 1 holds." in text
    done.undo()
    assert not done.path.exists()


def test_the_users_own_folders(monkeypatch, project, tmp_path):
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = {a: skillopt.export(NOW / "epochs", a, scope="user", project=project).path for a in AGENTS}
    assert {a: p.relative_to(tmp_path / "home").as_posix() for a, p in places.items()} == {
        "claude": ".claude/skills/boxes",
        "codex": ".codex/skills/boxes",
        "copilot": ".copilot/skills/boxes",
        "cursor": ".cursor/skills/boxes",
        "gemini": ".gemini/skills/boxes",
        "opencode": ".config/opencode/skills/boxes",
    }
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    assert skillopt.export(NOW / "epochs", "claude", scope="user").path == tmp_path / "moved/skills/boxes"
    with pytest.raises(DataError, match="--scope user is for agents"):
        skillopt.export(NOW / "epochs", "zip", scope="user", project=project)


@pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_only_the_best_skill_of_an_ended_run_claims_a_gain(root, project):
    run = skillopt.open_run(root)
    done = skillopt.export(root, project / "out", name="boxes", description="Use when a box is named.")
    told = json.loads((done.path / "provenance.json").read_text())
    summary = run.summary
    assert told["skill_hash"] == run.best.hash and told["run"] == root.name
    if summary is None or summary.paired is None or run.best == run.initial:
        assert told["gain"] is None and told["not_measured"]
    else:
        gain = told["gain"]
        assert gain["delta"] == summary.paired.delta and gain["n"] == summary.paired.n
        assert gain["interval"] == list(summary.paired.interval)
        assert gain["after"]["value"] == summary.test.shown and told["models"] == dict(summary.models)
    start = skillopt.export(f"{root}@initial", project / "out", name="start", description="Use when a box is named.")
    assert start.provenance.gain is None and start.provenance.not_measured


def test_a_text_that_was_edited_after_the_run_claims_nothing(project, tmp_path):
    shutil.copytree(NOW / "epochs", tmp_path / "run")
    best = tmp_path / "run/best_skill.md"
    best.write_text(best.read_text().replace("RULE 7", "RULE 9"))
    done = skillopt.export(tmp_path / "run", "claude", project=project)
    assert done.provenance.gain is None and "not the run's best skill" in done.provenance.not_measured


def test_the_command_installs_replaces_and_takes_back(capsys, project):
    own = project / ".claude/skills/boxes"
    (own / "scripts").mkdir(parents=True)
    (own / "SKILL.md").write_text("---\nname: boxes\ndescription: mine\n---\nmine\n")
    (own / "scripts/run.sh").write_text("true\n")
    before = tree(project)
    text = said(capsys, "export", NOW / "paired", "--to", "claude", "--project", project)
    for words in ("boxes → ", "0.500 → 0.875 on 8 sealed test items", "not distinguishable", "markers", "--undo"):
        assert words in text
    assert (own / "scripts/run.sh").exists()
    body = json.loads(said(capsys, "export", NOW / "epochs", "--to", "claude", "--project", project, "--json"))
    assert body["replaced"] and body["provenance"]["gain"]["delta"] == 0.5
    again = ("export", NOW / "paired", "--to", "claude", "--project", project, "--undo")
    said(capsys, *again)
    assert "there again" in said(capsys, *again)
    assert tree(project) == before
    assert "could be undone" in said(capsys, *again, code=2)


def test_an_archive_is_the_same_every_time(project):
    first = skillopt.export(NOW / "epochs", "zip", project=project)
    assert first.path == project / "boxes.zip"
    names = zipfile.ZipFile(first.path).namelist()
    assert names == ["boxes/SKILL.md", "boxes/provenance.json"]
    other = skillopt.export(NOW / "epochs", "pack/it.skill", project=project)
    assert other.path.read_bytes() == first.path.read_bytes()
    undo_export("zip", name="boxes", project=project)
    assert not first.path.exists() and other.path.exists()
    other.undo()
    assert not other.path.exists()


def test_a_directory_goes_whole_without_what_is_hidden(project, tmp_path):
    skill = tmp_path / "read-invoices"
    for name, text in {
        "SKILL.md": "---\nname: read-invoices\ndescription: Use when an invoice arrives.\nlicense: MIT\n---\n"
        "Read [the form](references/form.md), run scripts/check.py.\n",
        "references/form.md": "form", "scripts/check.py": "print(1)\n", ".env": "KEY=x", ".git/config": "x",
        "scripts/__pycache__/check.pyc": "x",
    }.items():  # fmt: skip
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text(text)
    (skill / "scripts/check.py").chmod(0o755)
    done = skillopt.export(skill, "codex", project=project)
    assert {p for p in tree(done.path) if "." in p} == {
        "SKILL.md", "provenance.json", "references/form.md", "scripts/check.py",
    }  # fmt: skip
    assert os.access(done.path / "scripts/check.py", os.X_OK)
    assert (done.path / "SKILL.md").read_bytes() == (skill / "SKILL.md").read_bytes()
    assert done.notes == ("left out: .git/, .env",) and done.provenance.gain is None


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("- Be brief.\n", {}, "add --name and --description"),
        ("- Be brief.\n", {"name": "x"}, "add --description"),
        ("---\nname: x\n---\nBe brief.\n", {}, "description is missing"),
        ("---\nname: My Skill\ndescription: y\n---\nBe brief.\n", {}, "write for example my-skill"),
        ("---\nname: x\ndescription: Use when: y\n---\nBe brief.\n", {}, "header.yaml"),
        ("---\nname: x\ndescription: y\n---\nSee [it](references/no.md).\n", {}, "reference.dead"),
        ("  \n", {"name": "x", "description": "y"}, "is empty"),
    ],
)
def test_what_agents_would_drop_is_refused(text, options, words, project, tmp_path):
    file = tmp_path / "skill.md"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        skillopt.export(file, "claude", project=project, **options)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert tree(project) == {}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_name_and_description_are_set_and_every_other_byte_stays(end, project, tmp_path):
    lines = [
        "---", "# mine", "license: MIT", "name: old  # a note", "description: >", "  folded: no", "  text", "",
        "# about",        "metadata:", "  v: '1'", "---", "# Title", "body #1", "",
    ]  # fmt: skip
    file = tmp_path / "skill.md"
    file.write_bytes(end.join(lines).encode())
    done = skillopt.export(
        file, "claude", name="new-one", description="Fix issue #12:\n label it.", project=project
    )  # fmt: skip
    wanted = [*lines[:3], "name: new-one", 'description: "Fix issue #12: label it."', *lines[7:]]
    assert (done.path / "SKILL.md").read_bytes() == end.join(wanted).encode()
    assert lint(done.path).findings == ()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_markers_go_and_their_content_and_the_line_ends_stay(end):
    start, stop = MARKERS[0], MARKERS[1]
    lines = ["# T", "", "- a", "", start, "RULE", stop, ""]
    assert without_region_marks(end.join(lines)) == end.join(["# T", "", "- a", "", "RULE", ""])
    assert without_region_marks(end.join([*lines[:4], start, stop, ""])) == end.join(["# T", "", "- a", ""])
    assert without_region_marks("# no markers  \n\n\n") == "# no markers  \n\n\n"


def test_a_second_package_of_the_same_name_is_told(project):
    skillopt.export(NOW / "epochs", "claude", project=project)
    done = skillopt.export(NOW / "epochs", "copilot", project=project)
    assert len(done.notes) == 2 and "Copilot reads it too" in done.notes[1]


def test_a_misspelt_place_is_no_new_directory(project):
    with pytest.raises(DataError, match=r"neither an agent nor a directory.*\./clod"):
        skillopt.export(NOW / "epochs", "clod", project=project)
    assert tree(project) == {}
