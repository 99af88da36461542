"""A training that could begin, of one seed or several: loaded, checked, forecast, its directory chosen.

Nothing is spent or written before `claim`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skillopt.config import Resolved
from skillopt.engine.run.given import Given
from skillopt.engine.run.output_directory import OutputDirectory
from skillopt.engine.run.prepare import Work
from skillopt.forecast.plan import refuse
from skillopt.forecast.planned import Plan


@dataclass(frozen=True)
class Prepared:
    """What `Training` and `SeedsTraining` share."""

    resolved: Resolved
    given: Given
    work: Work
    place: OutputDirectory
    plan: Plan

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know before it begins."""
        return (*self.resolved.notices, *((self.place.remark,) if self.place.remark else ()))

    def refuse(self) -> None:
        """Raises `DataError` where the plan says that the data cannot show anything."""
        refuse(self.plan)

    def claim(self) -> Path:
        """Make the directory, if it is new."""
        return self.place.claim()
