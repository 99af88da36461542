"""The composite Action: its shell parts, as written, in a repository of their own."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from skillopt.testing.zygote import Zygote
from tests.cli.test_docs import DOOR, door
from tests.keeping.suites import commit_all, forgetting, write_suite_of

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step.get("name", "setup"): step for step in ACTION["runs"]["steps"]}
POSIX = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")


def shell(step: str, place: Path, zygote: Zygote, **environ: str) -> subprocess.CompletedProcess[str]:
    """One step as the runner would start it: `bash --noprofile --norc -eo pipefail`, its inputs in variables."""
    runner = {"RUNNER_TEMP": str(place / "temp"), "GITHUB_WORKSPACE": str(place / "repo")}
    runner |= {"GITHUB_OUTPUT": str(place / "output"), "GITHUB_STEP_SUMMARY": str(place / "summary.md")}
    given = dict.fromkeys(STEPS[step]["env"], "") | {"PATHS": ".", "LIVE": "false", "UNMEASURED": "fail"} | environ
    program = SimpleNamespace(run=partial(zygote.run, environ=runner))
    script = DOOR.replace("set -e\n", "") + STEPS[step]["run"]
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    with door(program, place / f"ends-{len(list(place.iterdir()))}") as base:
        own = {**base, **runner, **given}
        return subprocess.run(command, cwd=place / "repo", env=own, capture_output=True, text=True, timeout=120)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checked-out repository with one skill, and the runner's temporary directory."""
    (tmp_path / "temp").mkdir()
    (tmp_path / "repo").mkdir()
    write_suite_of(tmp_path / "repo")
    commit_all(tmp_path / "repo")
    return tmp_path


@POSIX
def test_the_check_step(place: Path, zygote: Zygote) -> None:
    skill = place / "repo/skills/boxes/SKILL.md"
    held = shell("Check", place, zygote, PATHS="skills/**")
    assert held.returncode == 0, held.stdout + held.stderr
    skill.write_text(forgetting(*range(8)))
    unrecorded = shell("Check", place, zygote, AGAINST="main")
    assert unrecorded.returncode == 2 and "::warning file=skills/boxes/SKILL.md" in unrecorded.stdout
    assert shell("Check", place, zygote, UNMEASURED="pass").returncode == 0
    live = shell("Check", place, zygote, PATHS="skills/** suites", AGAINST="main", LIVE="true", MAX_USD="2")
    assert live.returncode == 1, live.stdout + live.stderr
    assert "::error file=skills/boxes/SKILL.md,line=4,title=skillopt check::boxes: regressed, -40.0" in live.stdout
    assert shell("Check", place, zygote, MARGIN="0.5").returncode == 0, "recorded, and tolerated"
    assert shell("Check", place, zygote, PATHS="nowhere").returncode == 3
    verdicts = [line.removeprefix("verdict=") for line in (place / "output").read_text().splitlines()]
    assert verdicts == ["held", "not measured", "not measured", "regressed", "held", "configuration"]
    assert "| boxes | regressed | -40.0 points" in (place / "summary.md").read_text()
    assert "| boxes | held | -40.0 points" in (place / "temp/skillopt-check.md").read_text(), "the last one"


@POSIX
def test_the_comment_step(place: Path, zygote: Zygote) -> None:
    tools = place / "tools"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\necho "$@" >> "$CALLS"\ncase "$*" in *--edit-last*) exit 1;; esac\n')
    (tools / "gh").chmod(0o755)
    environ = {"NUMBER": "7", "VERDICT": "held", "CALLS": str(place / "calls"), "PATH": f"{tools}:{os.environ['PATH']}"}
    assert shell("Comment", place, zygote, **environ).returncode == 0
    table = place / "temp/skillopt-check.md"
    assert table.read_text() == "Skills: held\n"
    asked = f"pr comment 7 --body-file {table}"
    assert (place / "calls").read_text().splitlines() == [f"{asked} --edit-last", asked], "edited, else written"


@POSIX
@pytest.mark.parametrize(("given", "installed"), [(ACTION["inputs"]["install"]["default"], "{0}/action"),
                                                  ("skillopt==1.0", "skillopt==1.0")])  # fmt: skip
def test_the_install_step(place: Path, zygote: Zygote, given: str, installed: str) -> None:
    tools = place / "tools"
    tools.mkdir()
    (tools / "python").write_text('#!/bin/sh\necho "$@" > "$CALLS"\n')
    (tools / "python").chmod(0o755)
    environ = {"INSTALL": given, "GITHUB_ACTION_PATH": str(place / "action"), "CALLS": str(place / "calls")}
    assert shell("Install", place, zygote, **environ, PATH=f"{tools}:{os.environ['PATH']}").returncode == 0
    said = f"-m pip install --quiet {installed.format(place)}\n"
    assert (place / "calls").read_text() == said, "the version of the action, and no stranger's package of the name"


def test_every_variable_of_a_step_is_an_input_and_every_input_is_used() -> None:
    text = (ROOT / "action.yml").read_text()
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text
    for step in STEPS.values():
        assert "${{" not in step.get("run", ""), "an input must not be pasted into a script"
