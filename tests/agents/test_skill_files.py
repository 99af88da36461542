"""A skill's other files: delivered to agents beside SKILL.md, part of every key, and of what a run is bound to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt.agents.shell import ToolLoopSettings
from skillopt.agents.skill_files import File, SkillFiles, read_skill_files
from skillopt.agents.tool_loop import ToolLoopAgent
from skillopt.core.errors import DataError
from skillopt.store.journal import Journal
from tests.agents.stand_in import Stand, task
from tests.agents.test_tool_loop import DONE, bash, script

FOLDER = ".agents/skills/skillopt-target"
RUN = File(b"#!/bin/sh\necho from the script\n", True)


def beside(**more: bytes) -> SkillFiles:
    files = {f"references/{name}.md": File(content) for name, content in more.items()}
    return SkillFiles({"scripts/run.sh": RUN, **files})


async def test_an_agent_program_finds_them_beside_its_skill(stand: Stand) -> None:
    good = {"answer": "<answer>12</answer>", "read": True}
    agent = stand.plan(good, good).agent(beside=beside(form=b"the form"))
    await agent.attempt(task())
    (call,) = stand.calls
    for folder in (FOLDER, FOLDER.replace(".agents", ".claude")):
        assert call["files"][f"{folder}/references/form.md"] == "the form"
        assert call["files"][f"{folder}/scripts/run.sh"] == RUN.content.decode()
    await agent.attempt(task())
    assert len(stand.calls) == 1
    other = stand.agent(stand.place / "journal.sqlite3", beside=beside(form=b"another form"))
    await other.attempt(task())
    assert len(stand.calls) == 2


async def _read(journal: Journal, command: str, skill: str = "Use wc -l.", **changes: object) -> str:
    chat = script(bash(command), DONE)
    environ = {"PATH": os.environ["PATH"], "HOME": "/home/user"}
    loop = ToolLoopAgent(chat, ToolLoopSettings(environ, delivery="native", **changes), journal=journal)
    await loop.attempt(task(skill=skill))
    await loop.aclose()
    return next(str(m.content) for m in chat.requests[-1].messages if m.role == "tool")


async def test_the_tool_loop_reads_and_runs_the_files_of_this_very_skill(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite3")
    read = f"cat {FOLDER}/SKILL.md {FOLDER}/references/form.md"
    first = await _read(journal, read, beside=beside(form=b"the form"))
    assert "Use wc -l." in first and "the form" in first
    assert "another form" in await _read(journal, read, beside=beside(form=b"another form"))
    assert "Count by hand." in await _read(journal, read, "Count by hand.", beside=beside(form=b"the form"))
    assert await _read(journal, f"{FOLDER}/scripts/run.sh", beside=beside()) == "from the script\n"
    journal.close()


def test_what_is_read_of_a_directory(tmp_path: Path) -> None:
    for name in ("SKILL.md", "references/a.md", "scripts/run.sh", ".git/x", ".env", "scripts/__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "scripts/run.sh").chmod(0o755)
    (tmp_path / "link.md").symlink_to(tmp_path / "SKILL.md")
    found = read_skill_files(tmp_path)
    assert {name: file.executable for name, file in found.files.items()} == {
        "references/a.md": False, "scripts/run.sh": True,
    }  # fmt: skip
    assert found.left_out == (".git/", ".env", "link.md")
    before = found.digest
    (tmp_path / "scripts/run.sh").chmod(0o644)
    assert read_skill_files(tmp_path).digest != before
    for n in range(501):
        (tmp_path / f"{n}.md").write_text("x")
    with pytest.raises(DataError, match="more than 500 files"):
        read_skill_files(tmp_path)


def test_a_second_spelling_of_the_skills_own_file_is_refused(tmp_path: Path) -> None:
    for name in ("SKILL.md", "skill.md"):
        (tmp_path / name).write_text("x")
    with pytest.raises(DataError, match=r"SKILL\.md and skill\.md differ in case only"):
        read_skill_files(tmp_path)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([b"caf\xe9.md"], r"caf\\udce9.md"),
        ([b"two\nlines.md"], r"two\nlines.md"),
        ([b"Notes.md", b"notes.md"], "Notes.md and references/notes.md differ in case only"),
    ],
)
def test_names_that_would_not_arrive_are_refused(tmp_path: Path, names: list[bytes], says: str) -> None:
    (tmp_path / "references").mkdir()
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path / "references") + b"/" + name)).write_text("x")
    with pytest.raises(DataError, match="rename") as caught:
        read_skill_files(tmp_path)
    assert says in str(caught.value) and "\n" not in str(caught.value)
    str(caught.value).encode()
