"""The plugin in other people's pytest: held, regressed, not recorded, not measured; and nothing loaded where unused."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from tests.keeping.suites import GOOD, PARTLY, forgetting, write_suite_of

ROOT = Path(__file__).parents[2]
OUT = "import json, sys; print(json.dumps(sorted(n for n in sys.modules if n.startswith('skillopt'))))"


def run_pytest(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A pytest of its own; the plugin by its entry point where this installation has it."""
    installed = any(point.name == "skillopt" for point in entry_points(group="pytest11"))
    named = [] if installed else ["-p", "skillopt.pytest_plugin"]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        *([] if "xdist" in arguments else ["-p", "no:xdist"]),
        "-p",
        "no:asyncio",
        "--strict-markers",
        *named,
    ]
    command = [sys.executable, "-m", "pytest", *options]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    return subprocess.run([*command, *arguments], cwd=place, env=environ, capture_output=True, text=True, timeout=120)


TESTS = """
import json, sys
import pytest
from skillopt.testing.toy import toy_item
from suites import obedient

ITEMS = [toy_item(n) for n in range(20)]

def test_nothing_is_loaded_yet():
    assert not {"skillopt.api", "skillopt.engine", "skillopt.cli"} & set(sys.modules)

@pytest.mark.skill("suites/held")
def test_held(skill_gate):
    assert skill_gate[0].standing == "held" and skill_gate[0].found.lost == ("box-3",)

@pytest.mark.skill("suites/regressed")
def test_regressed():
    pass

@pytest.mark.skill("suites/regressed", margin=0.5)
def test_tolerated():
    pass

@pytest.mark.skill("suites/unrecorded")
def test_unrecorded():
    pass

@pytest.mark.skill("skills/held", items=ITEMS, scorer="exact", target=obedient, baseline="old.md", recorded="rec")
def test_items_of_a_program():
    pass

@pytest.mark.skill("suites/none")
def test_no_suite():
    pass
"""


@pytest.mark.thorough
def test_each_outcome(tmp_path: Path) -> None:
    import skillopt

    for name, text in (("held", forgetting(3)), ("regressed", forgetting(*range(8))), ("unrecorded", GOOD)):
        write_suite_of(tmp_path, name=name)
        (tmp_path / "skills" / name / "SKILL.md").write_text(text)
        assert skillopt.check(tmp_path / "suites" / name)
    (tmp_path / "skills/unrecorded/SKILL.md").write_text(forgetting(1))
    (tmp_path / "old.md").write_text(GOOD)
    (tmp_path / "suites.py").write_text((ROOT / "tests/keeping/suites.py").read_text())
    (tmp_path / "test_skills.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    done = run_pytest(tmp_path, "--junitxml=out.xml")
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "out.xml").iter("testcase")}
    outcome = {name: next((c.tag for c in case if c.tag != "properties"), "passed") for name, case in cases.items()}
    assert outcome == {
        "test_nothing_is_loaded_yet": "passed", "test_held": "passed", "test_regressed": "error",
        "test_tolerated": "passed", "test_unrecorded": "error", "test_items_of_a_program": "error",
        "test_no_suite": "error",
    }, done.stdout  # fmt: skip
    assert "lost: box-0" in done.stdout and "record it: skillopt check" in done.stdout
    assert "no such file or directory. name a suite" in done.stdout
    properties = {p.get("name"): p.get("value") for p in cases["test_held"].iter("property")}
    assert properties["skillopt.held.standing"] == "held" and properties["skillopt.held.n"] == "20"
    assert json.loads(properties["skillopt.held.interval"])[1] > -0.05 and properties["skillopt.held.cost"] == "0.0"
    live = run_pytest(tmp_path, "--skill-live", "-k", "unrecorded or program")
    assert "2 passed" in live.stdout, live.stdout


@pytest.mark.thorough
def test_workers_that_ask_at_once_take_turns(tmp_path: Path) -> None:
    """pytest-xdist: two processes, one suite, nothing recorded; a mistake is one line in both."""
    suite = write_suite_of(tmp_path)
    (tmp_path / "skills/boxes/SKILL.md").write_text(forgetting(3))
    script = suite / "script.py"
    script.write_text(script.read_text().replace("import re", "import re, time").replace(
        "    skill =", "    time.sleep(0.02)\n    skill ="))  # fmt: skip
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(2))\n@pytest.mark.skill('suites/boxes')\n"
        "def test_it(n): pass\n@pytest.mark.skill('suites/none')\ndef test_none(): pass\n"
    )
    done = run_pytest(tmp_path, "--skill-live", "-p", "xdist", "-n", "2")
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "suites/none: no such file or directory" in done.stdout and "Traceback" not in done.stdout
    assert "ConfigError" not in done.stdout


def test_too_few_measured_items_skip(tmp_path: Path) -> None:
    suite = write_suite_of(tmp_path)
    (tmp_path / "skills/boxes/SKILL.md").write_text(forgetting(*range(8)))
    (suite / "script.py").write_text(PARTLY)
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.skill('suites/boxes')\ndef test_it(): pass\n"
        "def test_without_marker(skill_gate): pass\n"
    )
    done = run_pytest(tmp_path, "--skill-live", "-rs")
    assert "1 skipped" in done.stdout and "not measured" in done.stdout
    assert "skill_gate needs @pytest.mark.skill" in done.stdout


def test_the_entry_point_and_what_it_loads() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nskillopt = "skillopt.pytest_plugin"' in text
    command = [sys.executable, "-c", f"import skillopt.pytest_plugin; {OUT}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["skillopt", "skillopt.pytest_plugin"]


def test_the_hook_for_pre_commit_lints_every_file(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (tmp_path / "skillopt").write_text('#!/bin/sh\necho "$@"\ncase "$2" in bad*) exit 1;; esac\n')
    (tmp_path / "skillopt").chmod(0o755)
    for files, code in ((["a/SKILL.md", "b/SKILL.md"], 0), (["bad/SKILL.md", "b/SKILL.md"], 1)):
        done = subprocess.run([*shlex.split(hook["entry"]), *files], env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == code and done.stdout.splitlines() == [f"lint {name}" for name in files]
