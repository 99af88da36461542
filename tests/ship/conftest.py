"""Whole trees as values, and a process that dies at a chosen file operation."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "shutil.rmtree"}


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """Every path below `root` but the exporter's own folder: content and mode, or a link's goal."""
    out: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if ".skillopt" in path.parts:
            continue
        if path.is_symlink():
            out[name] = ("link", os.readlink(path))
        elif path.is_file():
            out[name] = (path.read_bytes(), path.stat().st_mode & 0o777)
        else:
            out[name] = ("directory",)
    return out


def killed_at(number: int, root: Path, action: Callable[[], object]) -> bool:
    """Run `action` in a forked process that kills itself (-9) before its `number`-th change of a file below `root`.
    False when it came to its end before."""
    pid = os.fork()
    if not pid:
        seen = 0

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if (event in _WRITES or opened) and str(arguments[0]).startswith(str(root)):
                seen += 1
                if seen == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            action()
        except BaseException:  # noqa: BLE001 - the forked process ends here, whatever it was
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project's directory."""
    place = tmp_path / "project"
    place.mkdir()
    return place
