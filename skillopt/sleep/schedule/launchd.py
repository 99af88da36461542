"""launchd: a LaunchAgent's property list."""

from __future__ import annotations

import plistlib
from pathlib import Path

from skillopt.sleep.schedule.job import Job


def label(job_id: str) -> str:
    """The agent's name."""
    return f"org.skillopt.sleep.{job_id}"


def plist(job: Job) -> bytes:
    """The file's bytes."""
    return plistlib.dumps(
        {
            "Label": label(job.id),
            "ProgramArguments": list(job.command),
            "StartCalendarInterval": {"Hour": job.hour, "Minute": job.minute},
            "StandardOutPath": str(job.log),
            "StandardErrorPath": str(job.log),
            "RunAtLoad": False,
        }
    )


def path(home: Path, job_id: str) -> Path:
    """Where a user's agents lie."""
    return home / "Library" / "LaunchAgents" / f"{label(job_id)}.plist"
