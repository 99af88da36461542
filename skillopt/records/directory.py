"""The run directory: one writer, one journal, and views that can be deleted without loss.

The journal is the state. Everything else is a view written from the same objects; what a clock or an interruption can
change (bill, timings, logs) lives under `logs/`, so the rest of the tree is identical byte for byte however often the
run was killed. A directory that holds somebody else's files, or a run with another configuration, is refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillopt.core.errors import RunDirError
from skillopt.store.atomic import write_json, write_text

JOURNAL = "journal.sqlite"
LOCK = "run.lock"
LOGS = "logs"
VOLATILE = (JOURNAL, f"{JOURNAL}-wal", f"{JOURNAL}-shm", LOCK, LOGS)
"""Names at the root that may differ between a killed and an undisturbed run."""
GENERATED = "_generated_splits"
"""Splits that a ratio cut of a file of items."""
GIVEN = "_given"
"""Items and skill that a program handed over."""
_FIRST = (*VOLATILE, GENERATED, GIVEN)
"""Written before the journal: a run that was killed just then is still ours."""


class RunDir:
    """Names every file of a run. Creating it makes the directory; it does not lock or write anything yet."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunDirError(
                f"cannot create the run directory {root}: {error.strerror}", hint="choose another env.out_root"
            ) from error
        if not os.access(root, os.W_OK | os.X_OK):
            raise RunDirError(f"the run directory {root} is not writable", hint="choose another env.out_root")

    @property
    def journal(self) -> Path:
        """The one file that is state."""
        return self.root / JOURNAL

    @property
    def lock(self) -> Path:
        """Held while a process writes."""
        return self.root / LOCK

    @property
    def logs(self) -> Path:
        """Directory of what a clock or an interruption can change."""
        return self.root / LOGS

    def check_own(self) -> None:
        """Raises `RunDirError` for a directory that has files but no journal of ours."""
        names = sorted(p.name for p in self.root.iterdir() if p.name not in _FIRST)
        if names and not self.journal.exists():
            raise RunDirError(
                f"{self.root} is not empty and holds no run of ours (found {', '.join(names[:3])})",
                hint="choose an empty directory as env.out_root",
            )

    def step(self, number: int) -> Path:
        """Directory of one step."""
        return self.root / "steps" / f"step_{number:04d}"

    def skill(self, number: int) -> Path:
        """The current skill after a step; 0 is the initial one."""
        return self.root / "skills" / f"skill_v{number:04d}.md"

    def write(self, name: str, content: str | Mapping[str, Any] | list[Any]) -> Path:
        """Write one view atomically: text as it is, anything else as JSON."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            write_text(path, content)
        else:
            write_json(path, content)
        return path

    def remove(self, name: str) -> None:
        """Remove a view or a directory of views, if it is there: it speaks of an earlier end of the run."""
        path = self.root / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise RunDirError(f"cannot remove {path}: {error.strerror}", hint="remove it and start again") from error
