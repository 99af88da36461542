"""Bytes by their digest, in a directory that an executor and its workers share.

A blob is written once and never changed; a reader checks the digest, so a damaged or foreign file is an error and never
an input.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillopt.core.errors import ConfigError

if TYPE_CHECKING:  # not at run time, and no hashlib before it is needed: most workers never see a blob
    from pathlib import Path


@dataclass(frozen=True)
class Blobs:
    """A directory of blobs; made at the first `put`."""

    folder: str

    @classmethod
    def temporary(cls) -> Blobs:
        """A place nobody else has, not made before something is put there: most runs have no blobs at all."""
        import tempfile

        return cls(os.path.join(tempfile.gettempdir(), f"skillopt-work-{os.getpid()}-{os.urandom(8).hex()}"))

    def put(self, data: bytes) -> str:
        """Store and name them: SHA-256, 64 hex digits."""
        digest = _digest(data)
        target = os.path.join(self.folder, digest)
        if not os.path.exists(target):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            temporary = os.path.join(self.folder, f".{digest[:16]}.{os.urandom(4).hex()}")
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, target)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a digest. Raises `ConfigError` when they are not there, or are other bytes."""
        try:
            with open(os.path.join(self.folder, os.path.basename(digest)), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise ConfigError(f"no blob {digest!r} on this worker", hint="put() its bytes first") from None
        if _digest(data) != digest:
            raise ConfigError(f"blob {digest} was changed on disk", hint="remove the file and run again")
        return data

    def place(self, files: Mapping[str, str], folder: Path) -> None:
        """Write files below `folder`. Raises `ConfigError` for a path that leads out of it."""
        from pathlib import PurePosixPath

        for name, digest in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ConfigError(f"the file name {name!r} leads out of the unit's directory")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.get(digest))


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
