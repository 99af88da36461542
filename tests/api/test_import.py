"""`import skillopt`: fast, nothing of third parties, every public name reachable, the docstrings' examples true."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import skillopt

PROGRAM = """
import sys, time
started = time.process_time()
import skillopt
took = time.process_time() - started
names = [getattr(skillopt, name) for name in skillopt.__all__]
third = sorted({m.partition(".")[0] for m in sys.modules} & {
    "pydantic", "yaml", "httpx", "openai", "jinja2", "rich", "typer", "platformdirs", "tenacity", "IPython"})
print(took, third)
"""


def test_importing_is_fast_and_brings_nothing_of_third_parties() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    took, _, third = done.stdout.strip().partition(" ")
    assert third == "[]"
    assert float(took) < 0.1


def test_the_public_names() -> None:
    assert set(skillopt.__all__) <= set(dir(skillopt))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        skillopt.optimise  # type: ignore[attr-defined]  # noqa: B018
    assert issubclass(skillopt.errors.ConfigError, skillopt.errors.SkillOptError)
    assert skillopt.errors.ConfigError("wrong", hint="do that").hint == "do that"


API = Path(skillopt.__file__).parent / "api"
EXAMPLES = sorted(
    ".".join(path.relative_to(API).with_suffix("").parts)
    for path in API.rglob("*.py")
    if path.name != "__init__.py" and ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_in_docstrings_are_true(
    module: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("examples"))
    assert len(EXAMPLES) > 15
    found = doctest.testmod(importlib.import_module(f"skillopt.api.{module}"))
    assert found.attempted and not found.failed
