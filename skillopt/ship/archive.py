"""A package as one archive: the skill's directory at its root, same bytes for the same package on every machine."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping

from skillopt.agents.skill_files import File

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""


def packed(name: str, files: Mapping[str, File]) -> bytes:
    """The archive's bytes.

    >>> zipfile.ZipFile(io.BytesIO(packed("brief", {"SKILL.md": File(b"x")}))).namelist()
    ['brief/SKILL.md']
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, file in sorted(files.items()):
            info = zipfile.ZipInfo(f"{name}/{path}", _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix: the mode below is read
            info.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            archive.writestr(info, file.content)
    return out.getvalue()
