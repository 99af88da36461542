"""`gc`: remove old closed nights; never what waits for a decision or stands behind a rule in force."""

from __future__ import annotations

import argparse
import math

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import StagingError, UsageError
from skillopt.sleep.night.opening import locked
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.close import clear
from skillopt.sleep.staging.manifest import published
from skillopt.sleep.state.rule_ledger import RuleLedger


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    parser.add_argument("--keep-days", metavar="N", default="90", help="closed nights younger than this stay (90)")


async def run(call: Call) -> int:
    """Clear away."""
    days = _days(call.text("keep_days"))
    paths = call.paths(call.resolved())
    with locked(paths):
        ledger = RuleLedger(paths.home)
        try:
            nights: list[StagedNight] = []
            for name in published(paths.staging):
                try:
                    nights.append(StagedNight.open(paths.staging / name, paths.project, ledger)[0])
                except StagingError as fault:
                    call.say(f"left alone: {fault}")
            removed = clear(paths, nights, keep_days=days, now=call.clock())
        finally:
            ledger.close()
    if call.as_json:
        call.json({"ok": True, "removed": list(removed)})
    else:
        call.out(f"removed {len(removed)} closed or abandoned night(s)")
    return 0


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not days >= 0:
        raise UsageError(f"--keep-days {text!r} is no number of days", hint="say 0 or more")
    return days
