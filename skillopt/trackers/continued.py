"""Which run of a store a run directory is recorded in, so that a run that goes on goes on there.

`logs/tracking.json` holds it by tracker and store. The store is named by a digest, because its address may hold a
password. A file that cannot be read says nothing: the tracker then looks for the run's id in its store.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue, as_object, parse_json
from skillopt.records.directory import LOGS
from skillopt.store.atomic import write_json

FILE = "tracking.json"


def known_run(directory: Path, tracker: str, store: str) -> str:
    """The store's id of the run in this directory; blank when there is none."""
    found = _read(directory).get(_key(tracker, store))
    return found if isinstance(found, str) else ""


def remember_run(directory: Path, tracker: str, store: str, run: str) -> None:
    """Keep the store's id."""
    known = _read(directory)
    if known.get(_key(tracker, store)) != run:
        (directory / LOGS).mkdir(exist_ok=True)
        write_json(directory / LOGS / FILE, {**known, _key(tracker, store): run})


def _key(tracker: str, store: str) -> str:
    return f"{tracker} {digest(store)[:16]}"


def _read(directory: Path) -> dict[str, JsonValue]:
    try:
        return dict(as_object(parse_json((directory / LOGS / FILE).read_bytes())))
    except (OSError, ValueError):
        return {}
