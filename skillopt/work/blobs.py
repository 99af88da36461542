"""Bytes by their digest, in a directory that an executor and its workers share.

A blob is written once and never changed; a reader checks the digest, so a damaged or foreign file is an error and never
an input.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillopt.core.errors import ConfigError


@dataclass(frozen=True)
class Blobs:
    """A directory of blobs; made at the first `put`."""

    folder: Path

    def put(self, data: bytes) -> str:
        """Store and name them: SHA-256, 64 hex digits."""
        digest = hashlib.sha256(data).hexdigest()
        target = self.folder / digest
        if not target.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f".{digest[:16]}.{secrets.token_hex(4)}"
            temporary.write_bytes(data)
            os.replace(temporary, target)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a digest. Raises `ConfigError` when they are not there, or are other bytes."""
        try:
            data = (self.folder / PurePosixPath(digest).name).read_bytes()
        except FileNotFoundError:
            raise ConfigError(f"no blob {digest!r} on this worker", hint="put() its bytes first") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise ConfigError(f"blob {digest} was changed on disk", hint="remove the file and run again")
        return data

    def place(self, files: Mapping[str, str], folder: Path) -> None:
        """Write files below `folder`. Raises `ConfigError` for a path that leads out of it."""
        for name, digest in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ConfigError(f"the file name {name!r} leads out of the unit's directory")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.get(digest))
