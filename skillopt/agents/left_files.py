"""What a target left in its directory, as a value that a scorer reads: names and bytes, never a path.

An agent's directory is gone when its answer is scored, and after a resume it was never there; so the files are kept
with the answer they belong to. Kept is what was added or changed; links are not followed, and what is over the limits
is named with its size instead (`omitted`).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from skillopt.core.errors import DataError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue, as_number, as_object

MOST_BYTES = 16 * 1024 * 1024
MOST_FILES = 1000


@dataclass(frozen=True)
class LeftFiles:
    """Files by their relative path, sorted.

    >>> LeftFiles({"answer.txt": b"42"}).text("answer.txt")
    '42'
    """

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    omitted: Mapping[str, int] = field(default_factory=dict[str, int])
    """Size of each file that was too large, or one too many, to be kept."""

    def text(self, name: str, default: str = "") -> str:
        """A file as UTF-8, with replacement characters where it is none; `default` where there is no such file."""
        content = self.files.get(name)
        return default if content is None else content.decode("utf-8", "replace")

    @property
    def digest(self) -> str:
        """Names and contents of all files, those that were not kept by their size."""
        return digest(
            [{name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}, dict(self.omitted)]
        )

    def write(self, folder: Path) -> None:
        """Write them below a folder, which is made. Raises `DataError` for a name that leads out of it."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise DataError(f"the file name {name!r} leads out of the directory")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def to_json(self) -> dict[str, JsonValue]:
        """As the journal keeps them."""
        files: dict[str, JsonValue] = {n: base64.b64encode(c).decode("ascii") for n, c in self.files.items()}
        return {"files": files, "omitted": dict(self.omitted)}

    @classmethod
    def from_json(cls, value: object) -> LeftFiles:
        """The inverse."""
        row = as_object(value)
        files = {name: base64.b64decode(str(content)) for name, content in as_object(row.get("files")).items()}
        omitted = {name: int(as_number(size) or 0) for name, size in as_object(row.get("omitted")).items()}
        return cls(files, omitted)


def collect(folder: Path, before: Mapping[str, bytes], *, cleaned: Callable[[bytes], bytes] | None = None) -> LeftFiles:
    """What lies in `folder` and was not there `before`, or was other bytes. `cleaned` takes out secrets."""
    files: dict[str, bytes] = {}
    omitted: dict[str, int] = {}
    left = MOST_BYTES
    for path in _regular(folder):
        name = path.relative_to(folder).as_posix()
        try:
            size = path.stat().st_size
            if size > left or len(files) >= MOST_FILES:
                if before.get(name) is None or size != len(before[name]):
                    omitted[name] = size
                continue
            content = path.read_bytes()
        except OSError:  # unreadable, or gone since it was listed: the target left no such file for anybody
            continue
        if before.get(name) == content:
            continue
        files[name] = cleaned(content) if cleaned is not None else content
        left -= size
    return LeftFiles(files, omitted)


def _regular(folder: Path) -> list[Path]:
    found: list[Path] = []
    for root, _, names in os.walk(folder):
        found += [path for name in names if not (path := Path(root, name)).is_symlink() and path.is_file()]
    return sorted(found)
