"""Where the real agent CLIs are, for the tests that run them; each is skipped with a reason where it is missing.

`make e2e` installs them into `.e2e`; SKILLOPT_E2E_BIN names other directories (separated like PATH).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"codex_exec": "codex", "claude_code_exec": "claude", "copilot_exec": "copilot"}


def search_path() -> str:
    """Directories to look in, before PATH."""
    given = os.environ.get("SKILLOPT_E2E_BIN", "")
    return os.pathsep.join(filter(None, [given, str(ROOT / ".e2e/node_modules/.bin"), os.environ["PATH"]]))


def program(backend: str) -> str:
    """The program's path; skips the test when there is none."""
    found = shutil.which(PROGRAMS[backend], path=search_path())
    if found is None and os.environ.get("SKILLOPT_E2E_REQUIRED"):
        pytest.fail(f"{PROGRAMS[backend]} is not installed, and SKILLOPT_E2E_REQUIRED asks for it")
    if found is None:
        pytest.skip(f"{PROGRAMS[backend]} is not installed: run `make e2e`, or set SKILLOPT_E2E_BIN")
    return found


PLANTED = {
    "OPENAI_API_KEY": "sk-planted-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-planted-0123456789",
    "GH_TOKEN": "ghp_plantedplantedplanted0123456789",
}
"""Secrets of the caller, none of which may reach a request or a file."""


def environment(home: Path) -> dict[str, str]:
    """An environment for our own command line, with planted secrets that must not get anywhere."""
    return {
        "PATH": search_path(),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        **PLANTED,
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
