"""Running Python code that a model wrote: in a fresh directory, confined to it, within limits (`confined`).

The directory is what the code may write, and with Python's own files and `reads` all it may read. The environment is
clean; home and temporary files are in the directory too. The caller bounds the time. `weakness` says what this machine
cannot hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from skillopt.harnesses.launch import Launch

_CONFINED = Path(__file__).with_name("confined.py")
_DOORS = {"landlock": "the files (Landlock)", "seccomp": "network and processes (seccomp)"}
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """What confined code may take. `seconds` of wall time, and as many of processor time."""

    seconds: float = 120.0
    memory_mb: int = 2048
    file_mb: int = 64


def confined(folder: Path, arguments: Sequence[str], limits: Limits, *, reads: Sequence[Path] = ()) -> Launch:
    """How to run `program.py arguments…`, or `-c code`, confined to `folder`, which must be there."""
    place, begun = folder.resolve(), begun_beside(folder)
    settings = {
        "folder": str(place),
        "begun": str(begun),
        "reads": [str(path.resolve()) for path in (*reads, _CONFINED)],
        "memory_mb": limits.memory_mb,
        "seconds": max(1, round(limits.seconds) + 1),
        "file_mb": limits.file_mb,
    }
    argv = (sys.executable, "-I", "-B", "-X", "utf8", str(_CONFINED), json.dumps(settings), *arguments)
    return Launch(argv, environment(place), place, files={begun: ""})


def begun_beside(folder: Path) -> Path:
    """The file that is there until the confined program itself begins: still there, the sandbox did not start."""
    place = folder.resolve()
    return place.with_name(f".{place.name}.begun")


@cache
def weakness() -> str:
    """What the kernel of this machine does not hold, in one sentence; blank where it holds all. Asks once."""
    with tempfile.TemporaryDirectory(prefix="skillopt-held-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        launch = confined(folder, ("--held",), Limits(seconds=60))
        begun_beside(folder).touch()
        asked = subprocess.run(
            launch.argv, env=dict(launch.env), cwd=folder, capture_output=True, text=True, timeout=60
        )
    open_doors = [words for name, words in _DOORS.items() if name not in asked.stdout.split()]
    return (
        f"this system does not hold {' and '.join(open_doors)} of programs that a model wrote: honest code is confined,"
        " hostile code is not (run it in a container or a virtual machine of its own)"
        if open_doors
        else ""
    )


def environment(place: Path) -> dict[str, str]:
    """Path, home, temporary files, language; and one thread each, for what calculates."""
    kept = {name: os.environ[name] for name in ("PATH", "TZ", "SYSTEMROOT") if os.environ.get(name)}
    here = str(place)
    return {
        **kept,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "HOME": here,
        "TMPDIR": here,
        "TEMP": here,
        "TMP": here,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
