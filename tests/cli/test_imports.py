"""What a command line imports: the commands that answer at once load no SDK, no schema, no template engine.

Asserted on `sys.modules`, not on a clock; `benchmarks/start_time.py` has the times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
SDKS = {"openai", "anthropic", "azure", "httpx", "aiohttp", "xllamacpp", "phonenumbers"}
HEAVY = SDKS | {"pydantic", "yaml", "jinja2", "rich", "asyncio", "sqlite3", "tenacity", "platformdirs", "ssl"}
AFTER = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def loaded(code: str, cwd: Path) -> set[str]:
    """The top packages in a new interpreter after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{AFTER}"], capture_output=True, text=True, cwd=cwd, timeout=120, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def after(arguments: list[str], cwd: Path) -> set[str]:
    """The same, after a command line."""
    return loaded(f"from skillopt.cli.main import invoke; invoke({arguments!r})", cwd)


def test_the_package_alone_loads_nothing_heavy(tmp_path):
    assert not loaded("import skillopt", tmp_path) & (HEAVY | {"typer"})


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["--bogus"]], ids=" ".join)
def test_an_answer_from_the_arguments_alone_loads_nothing_heavy(tmp_path, arguments):
    assert not after(arguments, tmp_path) & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [["trian"], ["train", "--help"], ["eval"], ["lint", "a.md", "--bogus"], ["model", "--help"]],
    ids=" ".join,
)
def test_a_commands_own_arguments_load_no_more_than_typer_does(tmp_path, arguments):
    """Typer converts values with pydantic; nothing of ours that needs it is loaded."""
    assert not after(arguments, tmp_path) & (HEAVY - {"pydantic"})


@pytest.mark.cases(1)
@pytest.mark.parametrize("command", ["train", "plan", "eval", "selftest", "doctor"])
def test_a_misspelt_key_loads_the_schema_and_no_sdk(tmp_path, command):
    (tmp_path / "c.yaml").write_text("env: {name: jsonl}\n")
    arguments = [
        command,
        "--config",
        "c.yaml",
        *(["--skill", "s.md"] if command == "eval" else []),
        "--batch_siez",
        "3",
    ]
    found = after(arguments, tmp_path)
    assert "pydantic" in found and not found & SDKS
    if command != "doctor":  # which goes on to check the machine
        assert not found & {"jinja2", "sqlite3", "tenacity"}


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["docvqa", "spreadsheetbench", "searchqa"])
def test_a_configuration_loads_its_own_environment_and_no_other(tmp_path, name):
    """By the file and the shared flags; a flag that only environments know is looked for in all of them."""
    (tmp_path / "c.yaml").write_text(f"env: {{name: {name}}}\n")
    code = (
        "import json, sys; from skillopt.api.given.configuring import configuration\n"
        "configuration('c.yaml', ['--batch_size=3'])\n"
        "adapters = [n for n in sys.modules if n.startswith('skillopt.envs.') and n.endswith('.adapter')]\n"
        "print(json.dumps([n.split('.')[2] for n in adapters]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert json.loads(done.stdout) == [name]


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "module", ["skillopt.engine.trainer", "skillopt.explain.lint_file", "skillopt.forecast.plan", "skillopt.cli.train"]
)
def test_the_engine_loads_no_sdk_before_a_call(tmp_path, module):
    assert not loaded(f"import {module}", tmp_path) & SDKS
