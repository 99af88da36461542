"""The environment of a run: `.env` and `.secrets/*.env` of the directory where the server was started.

What is set already stands. The values are secrets to everything that is shown, as all variables of such names are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_LINE = re.compile(r"""\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^#\s]*))\s*(?:#.*)?""")


def load_variables(place: Path = Path(".")) -> int:
    """Put what the files say into the process's environment; returns how many variables were set."""
    count = 0
    for path in (place / ".env", *sorted((place / ".secrets").glob("*.env"))):
        for name, value in variables_of(path).items():
            if name not in os.environ:
                os.environ[name] = value
                count += 1
    return count


def variables_of(path: Path) -> dict[str, str]:
    """`NAME=value` lines, with or without `export` and quotes; nothing is expanded. No file, no variables."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found: dict[str, str] = {}
    for line in lines:
        if match := _LINE.fullmatch(line):
            found[match[1]] = next((part for part in match.groups()[1:] if part is not None), "")
    return found
