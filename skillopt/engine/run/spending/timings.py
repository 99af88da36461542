"""How long things took: the only place where a clock is written, kept out of every other view.

Seconds a step took when it was really done; a later process that replays it from the journal does not overwrite them.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Timings:
    """Stage durations by step. `earlier` is what previous processes of the run recorded."""

    def __init__(self, earlier: dict[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = {"steps": {}, "stages": {}, "total_wall_time_s": 0.0, **(earlier or {})}

    def of_step(self, step: int) -> dict[str, float]:
        """The seconds of a step's stages so far (`rollout_s`)."""
        return dict(self.data["steps"].get(f"{step:04d}", {}))

    @contextmanager
    def measure(self, step: int | None, stage: str) -> Generator[None]:
        """Time one stage; the longest of several processes' readings stands (a replay takes no time)."""
        began = time.monotonic()
        try:
            yield
        finally:
            took = round(time.monotonic() - began, 4)
            place: dict[str, float] = (
                self.data["stages"] if step is None else self.data["steps"].setdefault(f"{step:04d}", {})
            )
            name = f"{stage}_s"
            place[name] = max(took, place.get(name, 0.0))
