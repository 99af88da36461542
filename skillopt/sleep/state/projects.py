"""Known projects: `project.json` in each project's state, for `--scope all` and for a person who looks."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from skillopt.core.json_types import as_object, as_text, parse_json
from skillopt.sleep.redact import redact
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.private import write_text

_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)


def remember(paths: StatePaths, *, now: float) -> None:
    """Write the project's file if there is none."""
    if not paths.project_json.is_file():
        value = {
            "path": str(paths.project),
            "remotes": remotes_of(paths.project),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        }
        write_text(paths.project_json, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def known(root: Path) -> tuple[Path, ...]:
    """Real paths of the projects that have a state and still exist."""
    found: list[Path] = []
    for file in sorted((root / "projects").glob("*/project.json")):
        try:
            path = Path(as_text(as_object(parse_json(file.read_bytes())).get("path")))
        except (OSError, ValueError):
            continue
        if path.is_absolute() and path.is_dir():
            found.append(path)
    return tuple(found)


def remotes_of(project: Path) -> list[str]:
    """Addresses in the repository's configuration, without the passwords in them."""
    try:
        text = (project / ".git" / "config").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({redact(url) for url in _URL.findall(text)})
