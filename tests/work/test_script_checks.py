"""Scripts of a package: they parse or the reason is told, and their own tests run in the sandbox."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any, cast

import pytest

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.package import PackagedFile, bundled
from skillopt.core.skill import Skill
from skillopt.engine.stages.scripts import broken_at_start, without_broken_files
from skillopt.store.journal import Journal
from skillopt.work.confinement.script_checks import language, own_test_files, parse_fault, run_own_tests

ADD = "def add(a, b):\n    return a + b\n"
TESTS = (
    "import unittest\nfrom add import add\n\n\nclass Adds(unittest.TestCase):\n    def test_two(self):\n"
    "        self.assertEqual(add(1, 1), 2)\n\n\ndef test_none():\n    assert add(0, 0) == 0\n\n\n"
    "def test_wants(tmp_path):\n    assert False\n"
)


@pytest.mark.parametrize(
    ("path", "good", "bad", "says"),
    [
        ("a.py", ADD, "def add(a, b:\n", "line 1"),
        ("a.py", "match = 1\n", "x = 1\n  y = 2\n", "line 2"),
        ("a.json", '{"a": [1]}', '{"a": [1}', "line 1"),
        ("a.sh", "if true; then echo yes; fi\n", "if true; then echo yes\n", "a.sh"),
        ("run", "#!/bin/bash\necho $((1 + 1))\n", "#!/bin/bash\necho $((1 + 1\n", "run"),
        ("a.mjs", "export const a = 1;\n", "export const a = ;\n", "SyntaxError"),
    ],
)
async def test_what_does_not_parse_is_told(path: str, good: str, bad: str, says: str) -> None:
    if path.endswith("mjs") and shutil.which("node") is None:
        pytest.skip("node is not installed")
    assert await parse_fault(path, good) == ""
    fault = await parse_fault(path, bad)
    assert says in fault and "\n" not in fault


async def test_what_is_no_script_is_not_checked() -> None:
    assert language("references/kinds.md", "def broken(") == ""
    assert await parse_fault("references/kinds.md", "def broken(") == ""


@pytest.mark.parametrize(
    ("path", "first", "spoken"),
    [
        ("a.sh", "#!/bin/bash", "bash"), ("a.sh", "#!/usr/bin/env -S bash -eu", "bash"), ("a.sh", "echo", "sh"),
        ("a.sh", "#!/bin/zsh", ""), ("a", "#!/usr/bin/fish", ""), ("a", "#! /bin/sh -e", "sh"),
        ("a", "#!/usr/bin/env pwsh", ""), ("a", "#!/usr/bin/python3.11", "python"), ("a.py", "#!/bin/sh\r", "sh"),
        ("a.sh", "#!", "sh"), ("a", "echo", ""),
    ],
)  # fmt: skip
def test_the_first_line_says_what_a_script_is_written_in(path: str, first: str, spoken: str) -> None:
    assert language(path, f"{first}\necho\n") == spoken


async def test_what_only_bash_knows_is_no_fault_of_a_bash_script() -> None:
    assert await parse_fault("a.sh", "#!/bin/bash\nall=(1 2)\nwc < <(echo)\n") == ""


async def test_own_tests_run_apart_from_everything() -> None:
    reach = b"import socket\n\n\ndef test_net():\n    socket.create_connection(('127.0.0.1', 9))\n"
    files = {"scripts/add.py": ADD.encode(), "tests/test_add.py": TESTS.encode(), "tests/test_out.py": reach}
    assert own_test_files(files) == ["tests/test_add.py", "tests/test_out.py"]
    passed = await run_own_tests(files)
    assert passed == {"tests/test_add.py::test_add.Adds.test_two": True, "tests/test_add.py::test_none": True,
                      "tests/test_out.py::test_net": False}  # fmt: skip


async def test_an_edit_that_fails_the_packages_own_tests_is_vetoed(tmp_path) -> None:
    skill = Skill(bundled("# Add\n", [PackagedFile("scripts/add.py", ADD), PackagedFile("tests/test_add.py", TESTS)]))
    journal = Journal.open(tmp_path / "journal.sqlite")
    config = SimpleNamespace(
        optimizer=SimpleNamespace(insert_after_fallback="skip"),
        env=SimpleNamespace(skill_init="", skill_files="", skill_file_chars=200),
    )
    broken = Skill(bundled("# Add\n", [PackagedFile("a.sh", "if true\n"), PackagedFile("b.md", "if true\n")]))
    context = cast("Any", SimpleNamespace(config=config, journal=journal, initial=broken))
    (told,) = await broken_at_start(context)
    assert told.startswith("warning: a.sh does not parse: a.sh")
    good, wrong = Edit("append", None, "Be brief."), Edit("replace", "    return a + b", "    return a - b")
    patch, vetoed = await without_broken_files(context, skill, Patch((wrong, good)))
    assert patch.edits == (good,)
    assert [v.index for v in vetoed] == [1] and "test_two would fail" in str(vetoed[0].leaks[0])
    long = Edit("append", "scripts/add.py", "# " + "x" * 200)
    patch, vetoed = await without_broken_files(context, skill, Patch((long, good)))
    assert patch.edits == (good,) and "env.skill_file_chars is 200" in str(vetoed[0].leaks[0])
    journal.close()
