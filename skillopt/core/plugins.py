"""Entry points of what is installed, read once: each reading opens the files of every distribution (20 ms and more).

What is installed later in the same process, as in a notebook, is found: it changes a directory of `sys.path`.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint
from importlib.metadata import entry_points as read_entry_points


def entry_points(*, group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group; nothing is loaded."""
    return _read(group, tuple((place, _changed(place)) for place in sys.path))


@lru_cache(maxsize=64)
def _read(group: str, places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    del places  # part of the key only
    return tuple(read_entry_points(group=group))


def _changed(place: str) -> int:
    """When a directory last got or lost an entry; 0 for what is none."""
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0
