"""`schedule`: print, or with `--install` install, the nightly job of a project."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_night_flags, add_place_flags, add_source_flags
from skillopt.sleep.errors import UsageError
from skillopt.sleep.schedule.install import SYSTEMS, install, shown, system_of
from skillopt.sleep.schedule.job import Job, job_of


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags: those of a night, all of which reach the job."""
    add_place_flags(parser)
    add_source_flags(parser)
    add_night_flags(parser)
    add_time_flags(parser)
    parser.add_argument("--install", action="store_true", help="install it; without this it is only printed")
    parser.add_argument(
        "--auto-adopt", action="store_true", default=argparse.SUPPRESS, help="a standing order to adopt"
    )


def add_time_flags(parser: argparse.ArgumentParser) -> None:
    """When, and with which scheduler."""
    parser.add_argument("--hour", metavar="H", default="", help="hour, local time (3)")
    parser.add_argument("--minute", metavar="M", default="", help="minute (17 and a few, fixed for this machine)")
    parser.add_argument(
        "--system", metavar="|".join(SYSTEMS), default="", help="the scheduler (default: this system's)"
    )


async def run(call: Call) -> int:
    """Print or install."""
    if call.text("tasks_file"):
        raise UsageError("a schedule mines its own tasks", hint="leave --tasks-file out")
    job, system = job_for(call), system_of(call.text("system"), call.environ)
    if call.on("install"):
        install(system, job, home_of(call))
        call.out(f"installed for {job.project}: every night at {job.hour:02}:{job.minute:02}, log {job.log}")
        call.out("to stop it: skillopt-sleep unschedule")
    else:
        call.out(f"# {system} would get this; the options would be frozen in {job.options}. Say --install to do it.")
        call.out(shown(system, job))
    return 0


def job_for(call: Call) -> Job:
    """The job of this command line's project."""
    resolved = call.resolved()
    return job_of(
        resolved,
        call.paths(resolved),
        call.environ,
        hour=call.text("hour"),
        minute=call.text("minute"),
        argv0=sys.argv[0],
    )


def home_of(call: Call) -> Path:
    """The user's home."""
    return Path(call.environ.get("HOME") or Path.home())
