"""The generated pages are those that are committed, links lead somewhere, and runnable commands run."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillopt.cli.reference import pages
from skillopt.testing.zygote import Zygote

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


DOOR = """
skillopt() {
    printf '%s\\0' "$PWD" "$@" > "$ENDS/asked"
    read -r code < "$ENDS/code"
    cat "$ENDS/out"
    cat "$ENDS/err" >&2
    return "$code"
}
set -e
"""
"""`skillopt` in a shell, as a fork of the prepared process instead of a new interpreter."""


@contextmanager
def door(zygote: Zygote, ends: Path) -> Generator[dict[str, str]]:
    """Answers the function while a shell runs; gives the shell's variables."""
    ends.mkdir()
    for name in ("asked", "code"):
        os.mkfifo(ends / name)

    def serve() -> None:
        while words := (ends / "asked").read_text().split("\0")[:-1]:
            ended = zygote.run(words[1:], cwd=Path(words[0]))
            (ends / "out").write_text(ended.out)
            (ends / "err").write_text(ended.err)
            (ends / "code").write_text(f"{ended.code}\n")

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    yield {**os.environ, "ENDS": str(ends)}
    (ends / "asked").write_text("")
    serving.join()


@pytest.mark.cases(3)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
@pytest.mark.parametrize(("page", "commands"), runnable(), ids=lambda v: v.split("\n")[0][:40])
def test_runnable_commands_run(page, commands, tmp_path, zygote):
    (tmp_path / "place").mkdir()
    with door(zygote, tmp_path / "ends") as environ:
        done = subprocess.run(
            ["bash", "-c", DOOR + commands],
            cwd=tmp_path / "place",
            env=environ,
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", GUIDES, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link
