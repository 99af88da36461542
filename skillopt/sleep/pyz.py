"""One file, `skillopt-sleep.pyz`, that runs on a bare Python 3.10: the companion and the rooms it stands on.

The archive is the same byte for byte for the same sources: names sorted, one fixed time.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

ROOMS = ("core", "gate", "harnesses", "records", "sleep", "store")
_SUFFIXES = (".py", ".md", ".json", ".html", ".css")
_SHEBANG = b"#!/usr/bin/env python3\n"
_MAIN = "import sys\n\nfrom skillopt.sleep.cli.main import main\n\nsys.exit(main())\n"
_TIME = (2020, 1, 1, 0, 0, 0)


def build(target: Path, package: Path | None = None) -> int:
    """Write the archive; its size in bytes. `package` is the directory of `skillopt` (this one by default)."""
    root = package or Path(__file__).resolve().parents[1]
    files = [root / "__init__.py", *(p for room in ROOMS for p in (root / room).rglob("*") if p.suffix in _SUFFIXES)]
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in files if path.is_file() and "__pycache__" not in path.parts):
            _add(archive, f"skillopt/{path.relative_to(root).as_posix()}", path.read_bytes())
        if not (root / "sleep/plugins").is_dir():  # a checkout; a wheel has them in the package
            plugins = root.parent / "plugins"
            for path in sorted(path for path in plugins.rglob("*") if path.is_file()):
                _add(archive, f"skillopt/sleep/plugins/{path.relative_to(plugins).as_posix()}", path.read_bytes())
        _add(archive, "__main__.py", _MAIN.encode())
    data = _SHEBANG + held.getvalue()
    target.write_bytes(data)
    target.chmod(0o755)
    return len(data)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(entry, data)
