"""Installing and removing a schedule with the system's own tool; what is printed is what is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.sleep.errors import Refused, UsageError
from skillopt.sleep.schedule import cron, launchd, systemd, windows
from skillopt.sleep.schedule.job import Job

SYSTEMS = ("cron", "systemd", "launchd", "windows")


def system_of(named: str, environ: Mapping[str, str]) -> str:
    """The scheduler: the one named, else this platform's."""
    if named:
        if named not in SYSTEMS:
            raise UsageError(f"--system {named!r}: choose {', '.join(SYSTEMS)}")
        return named
    if sys.platform == "win32":
        return "windows"
    if sys.platform == "darwin":
        return "launchd"
    return "cron" if shutil.which("crontab", path=environ.get("PATH")) else "systemd"


def shown(system: str, job: Job) -> str:
    """What would be installed, as text."""
    if system == "cron":
        return cron.line_of(job).decode("utf-8", "replace")
    if system == "systemd":
        return "\n".join(f"# {name}\n{text}" for name, text in systemd.units(job).items())
    if system == "launchd":
        return launchd.plist(job).decode()
    return windows.task_xml(job).decode("utf-16")


def install(system: str, job: Job, home: Path) -> None:
    """Install it. Raises `Refused`; the options' file is written first."""
    if system == "cron":
        table = cron.with_job(cron.read_table(), job)
        job.write()
        cron.write_table(table)
        return
    job.write()
    if system == "systemd":
        folder = systemd.directory(home)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in systemd.units(job).items():
            (folder / name).write_text(text, encoding="utf-8")
        _run(["systemctl", "--user", "daemon-reload"])
        _run(["systemctl", "--user", "enable", "--now", systemd.unit_names(job.id)[1]])
    elif system == "launchd":
        path = launchd.path(home, job.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(launchd.plist(job))
        _run(["launchctl", "load", "-w", str(path)])
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "task.xml"
            path.write_bytes(windows.task_xml(job))
            _run(["schtasks", "/Create", "/F", "/TN", windows.task_name(job.id), "/XML", str(path)])


def remove(system: str, job: Job, home: Path, *, everything: bool) -> None:
    """Remove what was made for this project; with `everything`, cron's whole block."""
    if system == "cron":
        table = cron.read_table()
        left = cron.without(table, None if everything else job.project_hash)
        if left != table:
            cron.write_table(left)
    elif system == "systemd":
        service, timer = systemd.unit_names(job.id)
        folder = systemd.directory(home)
        if (folder / timer).is_file():
            _run(["systemctl", "--user", "disable", "--now", timer])
        for name in (service, timer):
            (folder / name).unlink(missing_ok=True)
    elif system == "launchd":
        path = launchd.path(home, job.id)
        if path.is_file():
            _run(["launchctl", "unload", "-w", str(path)])
            path.unlink()
    else:
        _run(["schtasks", "/Delete", "/F", "/TN", windows.task_name(job.id)])
    job.options.unlink(missing_ok=True)


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as fault:
        raise Refused(f"cannot run {command[0]}: {fault.strerror or fault}") from fault
    if done.returncode != 0:
        raise Refused(f"{' '.join(command)}: {(done.stderr or done.stdout).strip() or done.returncode}")
