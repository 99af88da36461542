"""`gc`: remove old closed nights; never what waits for a decision or stands behind a rule in force."""

from __future__ import annotations

import argparse

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import UsageError
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
    try:
        days = float(call.text("keep_days"))
    except ValueError:
        raise UsageError(f"--keep-days {call.text('keep_days')!r} is no number") from None
    paths = call.paths(call.resolved())
    with locked(paths):
        ledger = RuleLedger(paths.home)
        try:
            nights = [StagedNight.open(paths.staging / n, paths.project, ledger)[0] for n in published(paths.staging)]
            removed = clear(paths, nights, keep_days=days, now=call.clock())
        finally:
            ledger.close()
    if call.as_json:
        call.json({"ok": True, "removed": list(removed)})
    else:
        call.out(f"removed {len(removed)} closed night(s)")
    return 0
