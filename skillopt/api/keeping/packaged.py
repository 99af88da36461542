"""Packaged skills: `ckpt/<name>/<model>_skill.md`, each with the report of the run that trained it and its provenance.

A skill is packaged from a finished run only. What `<model>_provenance.json` claims is the run's own sealed test (its
items, its model, its interval), or the reason why nothing is claimed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from skillopt import __version__
from skillopt.core.errors import DataError
from skillopt.records.reading import open_run
from skillopt.ship.provenance import Provenance, provenance_of
from skillopt.ship.source import find_source
from skillopt.store.atomic import write_bytes, write_json

CKPT = Path("ckpt")


@dataclass(frozen=True)
class Packaged:
    """What was written."""

    skill: Path
    provenance: Provenance


def package(run: Path, name: str, *, root: Path = CKPT) -> Packaged:
    """Copy a finished run's best skill, report and provenance to `root/name`. Raises `DataError` or `RunDirError`."""
    opened = open_run(run)
    if opened.summary is None:
        raise DataError(f"{run}: the run has not ended", hint="start the same command again, then package it")
    provenance = provenance_of(find_source(str(run)), (), f"skillopt {__version__}")
    stem = re.sub(r"[^a-z0-9.]+", "-", provenance.models.get("target", "model").lower()).strip("-")
    place = root / name
    place.mkdir(parents=True, exist_ok=True)
    skill = place / f"{stem}_skill.md"
    write_bytes(skill, (run / "best_skill.md").read_bytes())
    write_bytes(place / f"{stem}_report.md", (run / "report.md").read_bytes())
    write_json(place / f"{stem}_provenance.json", provenance.to_json())
    return Packaged(skill, provenance)
