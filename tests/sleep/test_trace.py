"""Nothing outside its own directories is written by any command but `adopt` and `revert`: a trace of the process, and
the whole tree before and after.

The trace is Python's own audit of every call that opens a file for writing or changes a directory, in a process that
runs all commands one after the other; SQLite's files are named when they are opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sleep.test_run import NIGHT, Server, ask, server  # noqa: F401  (fixtures)

TRACED = r"""
import contextlib, io, json, os, sys
seen = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {"os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.mkdir": (0,), "os.chmod": (0,),
           "os.link": (0, 1), "os.symlink": (1,), "os.truncate": (0,), "os.chown": (0,), "os.utime": (0,),
           "sqlite3.connect": (0,), "shutil.rmtree": (0,), "os.setxattr": (0,)}
def hook(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & WRITING and not isinstance(args[0], int):
        seen.append(os.path.abspath(os.fsdecode(args[0])))
    elif event in CHANGES:
        for i in CHANGES[event]:
            if isinstance(args[i], (str, bytes)):
                path = os.fsdecode(args[i])
                if event in ("os.remove", "os.rmdir") and args[1] >= 0:  # below an open directory
                    path = os.path.join(os.readlink(f"/proc/self/fd/{args[1]}"), path)
                seen.append(os.path.abspath(path.removeprefix("file:").partition("?")[0]))
sys.dont_write_bytecode = True
sys.addaudithook(hook)
from skillopt.sleep.cli.main import main
codes = {}
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        codes[" ".join(words[:2])] = main(words)
print(json.dumps({"seen": sorted(set(seen)), "codes": codes}))
"""


def _tree(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        kind = oct(path.lstat().st_mode)
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(root))] = f"{kind} {hashlib.sha256(data).hexdigest()}"
    return found


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of open directories are read from /proc")
def test_no_command_but_adopt_and_revert_writes_outside_its_own_directories(
    ask,  # noqa: F811
    server: Server,  # noqa: F811
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "tmp").mkdir()
    (home / ".bashrc").write_text("export A=1\n")
    place = ["--project", str(ask.project), "--config", str(tmp_path / "config.json")]
    commands = [
        ["plan", "--json"], ["dry-run"], ["harvest"], ["status"], ["run", *NIGHT], ["status", "--json"], ["review"],
        ["review", "--html"], ["review", "--json"], ["reject", "--why", "no"], ["run", *NIGHT, "--new"],
        ["gc", "--keep-days", "0"], ["schedule"], ["run", *NIGHT, "--scope", "all"],
    ]  # fmt: skip
    mine = ("state", "shop/.skillopt-sleep", "tmp")
    before = {name: value for name, value in _tree(tmp_path).items() if not name.startswith(mine)}
    done = subprocess.run(
        [sys.executable, "-c", TRACED, json.dumps([[*words, *place] for words in commands] + [["demo"]])],
        env={**os.environ, "HOME": str(home), "TMPDIR": str(tmp_path / "tmp")},
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert set(told["codes"].values()) == {0}, told["codes"]
    own = (tmp_path / "state", ask.project / ".skillopt-sleep", tmp_path / "tmp", Path(os.devnull))
    outside = [p for p in told["seen"] if not any(Path(p).is_relative_to(place) for place in own) and p != ":memory:"]
    assert outside == [], outside
    assert len(told["seen"]) > 50
    after = _tree(tmp_path)
    assert {name: value for name, value in after.items() if not name.startswith(mine)} == before
    assert list((tmp_path / "tmp").iterdir()) == [] and server.prompts
