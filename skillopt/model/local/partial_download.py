"""The unfinished download of one model file.

`<file>.part` always holds a prefix of the file, whichever source wrote it, and its length is the only record of how far
the download got: the hub continues at any byte, the registry at the last whole slice. Bytes are appended in order and
never seen as the model before size and hash were checked. Sources raise `SourceUnavailable` to pass on to the next one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from skillopt.core.errors import SkillOptError
from skillopt.model.local.catalogue import ModelEntry
from skillopt.model.local.modelfile import Progress, disk_full, no_progress


class SourceUnavailable(SkillOptError):
    """This source cannot give the file now; another one may."""


def no_line(_line: str) -> None:
    """A `say` that says nothing."""


@dataclass(frozen=True)
class Report:
    """How a download speaks: single lines for people, and progress in bytes."""

    say: Callable[[str], None] = no_line
    progress: Progress = no_progress


@dataclass(frozen=True)
class Partial:
    """The `.part` file of `entry` in `directory`."""

    entry: ModelEntry
    directory: Path

    @property
    def path(self) -> Path:
        """Where the bytes are collected."""
        return self.directory / f"{self.entry.file}.part"

    @property
    def scratch(self) -> Path:
        """Folder for what a source needs meanwhile (wheels); same disk as the cache, removed at the end."""
        return self.directory / f"{self.entry.file}.parts"

    def length(self) -> int:
        """Bytes collected so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def cut(self, length: int) -> None:
        """Forget everything behind `length` bytes."""
        if self.length() > length:
            os.truncate(self.path, length)

    def append(self, write: Callable[[BinaryIO], None]) -> None:
        """Let `write` add bytes at the end; on any failure the file is as before. A full disk: `FatalModelError`."""
        before = self.length()
        try:
            with self.path.open("ab") as stream:
                write(stream)
        except BaseException as error:
            self.cut(before)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise disk_full(self.directory) from error
            raise
