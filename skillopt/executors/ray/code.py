"""Which code this is: the package's version, and a digest of its source, so that two machines can be compared."""

from __future__ import annotations

import hashlib
import importlib
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


@cache
def own_code() -> tuple[str, str]:
    """Version, and the first twelve digits of the digest of all modules of the package."""
    root = _ROOT
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    version: str = importlib.import_module(_ROOT.name).__version__
    return version, whole.hexdigest()[:12]
