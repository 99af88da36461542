"""systemd (user): a service and a timer that catches up after a machine was off."""

from __future__ import annotations

from pathlib import Path

from skillopt.sleep.schedule.job import Job


def unit_names(job_id: str) -> tuple[str, str]:
    """Service and timer."""
    return f"skillopt-sleep-{job_id}.service", f"skillopt-sleep-{job_id}.timer"


def units(job: Job) -> dict[str, str]:
    """The two files' texts by name."""
    service, timer = unit_names(job.id)
    command = " ".join(_quoted(word) for word in job.command)
    log = str(job.log).replace("%", "%%")
    return {
        service: (
            f"[Unit]\nDescription=SkillOpt-Sleep for {_plain(job.project)}\n\n"
            f"[Service]\nType=oneshot\nExecStart={command}\n"
            f"StandardOutput=append:{log}\nStandardError=append:{log}\n"
        ),
        timer: (
            f"[Unit]\nDescription=SkillOpt-Sleep for {_plain(job.project)}, every night\n\n"
            f"[Timer]\nOnCalendar=*-*-* {job.hour:02}:{job.minute:02}:00\nPersistent=true\n\n"
            "[Install]\nWantedBy=timers.target\n"
        ),
    }


def directory(home: Path) -> Path:
    """Where a user's units lie."""
    return home / ".config" / "systemd" / "user"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plain(path: Path) -> str:
    return str(path).replace("%", "%%")
