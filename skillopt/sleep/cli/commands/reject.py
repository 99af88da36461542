"""`reject`: turn a proposal or single rules down, with a reason that later nights read."""

from __future__ import annotations

import argparse

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.desk import add_night_argument, opened
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.staging.close import reject


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    add_night_argument(parser)
    parser.add_argument("--rule", action="append", metavar="ID", help="only this rule (repeatable)")
    parser.add_argument("--why", metavar="TEXT", default="", help="the reason; it is remembered")


async def run(call: Call) -> int:
    """Reject."""
    with opened(call) as (night, _):
        rules = reject(night, call.texts("rule"), call.text("why"), now=call.clock())
        if call.as_json:
            call.json({"ok": True, "night": night.manifest.night, "rejected_rules": list(rules)})
        else:
            call.out(f"rejected {len(rules)} rule(s) of night {night.manifest.night}; they will not be proposed again")
    return 0
