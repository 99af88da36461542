"""`unschedule`: remove the nightly job of a project, and nothing that skillopt-sleep did not make."""

from __future__ import annotations

import argparse

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.commands.schedule import add_time_flags, home_of, job_for
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.schedule.install import remove, system_of


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    add_place_flags(parser)
    add_time_flags(parser)
    parser.add_argument("--all", action="store_true", help="the jobs of all projects (cron)")


async def run(call: Call) -> int:
    """Remove."""
    job = job_for(call)
    remove(system_of(call.text("system"), call.environ), job, home_of(call), everything=call.on("all"))
    call.out(f"no night is scheduled for {job.project} any more")
    return 0
