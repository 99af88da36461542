"""Where the recorded runs are, by version and name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1] / "recorded"
FIRST = ROOT / "1b0a487"
"""Runs of record version 1."""
NOW = ROOT / "2"
"""Runs of the present version; `python scripts/record_runs.py tests/recorded/2` records them again."""


def every_run() -> list[Path]:
    """All recorded runs of all versions."""
    return sorted(path for version in ROOT.iterdir() for path in version.iterdir() if path.is_dir())
