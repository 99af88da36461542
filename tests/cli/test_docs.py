"""The generated pages are those that are committed, links lead somewhere, and runnable commands run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.cli.reference import pages

REPO = Path(__file__).parents[2]
GUIDES = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", ["configuration.md", "commands.md", "events.md", "records.md"])
def test_generated_pages_have_not_drifted(name):
    assert (REPO / "docs/reference" / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


def runnable() -> list[tuple[str, str]]:
    found = []
    for path in GUIDES:
        blocks = re.findall(r"^```bash runnable\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
        found += [(path.name, block) for block in blocks]
    return found


@pytest.mark.parametrize(("page", "commands"), runnable(), ids=lambda v: v.split("\n")[0][:40])
def test_runnable_commands_run(page, commands, tmp_path):
    door = f'skillopt() {{ "{sys.executable}" -m skillopt "$@"; }}\nset -e\n'
    done = subprocess.run(["bash", "-c", door + commands], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", GUIDES, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link
