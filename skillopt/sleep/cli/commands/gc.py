"""`gc`: remove old closed nights, expired digests and old logs; never what waits for a decision or stands behind a
rule in force."""

from __future__ import annotations

import argparse
import math

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import StagingError, UsageError
from skillopt.sleep.mining.archive import TaskArchive
from skillopt.sleep.night.opening import locked
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.close import clear
from skillopt.sleep.staging.manifest import published
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.digests import DigestStore
from skillopt.sleep.state.logs import clear_logs
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import RuleLedger


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    parser.add_argument("--keep-days", metavar="N", default="90", help="closed nights younger than this stay (90)")


async def run(call: Call) -> int:
    """Clear away."""
    days = _days(call.text("keep_days"))
    resolved = call.resolved()
    paths = call.paths(resolved)
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
        digests = _expired(paths, call.clock() - resolved.settings.digest_days * 86_400)
    logs = clear_logs(paths.logs, before=call.clock() - days * 86_400)
    if call.as_json:
        call.json({"ok": True, "removed": list(removed), "digests": digests, "logs": logs})
    else:
        call.out(f"removed {len(removed)} closed or abandoned night(s), {digests} digest(s), {logs} log(s)")
    return 0


def _expired(paths: StatePaths, before: float) -> int:
    if not paths.digests.is_file():
        return 0
    with StateDatabase(paths.digests) as database:
        TaskArchive(database).expire(before)
        return DigestStore(database).expire(before)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not days >= 0:
        raise UsageError(f"--keep-days {text!r} is no number of days", hint="say 0 or more")
    return days
