"""`revert`: put the live files back to what they were before a night's adoption."""

from __future__ import annotations

import argparse

from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.desk import add_night_argument, opened
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.staging.close import revert


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    add_night_argument(parser, required=True)


async def run(call: Call) -> int:
    """Revert."""
    with opened(call) as (night, _):
        done = revert(night, now=call.clock(), users_umask=call.users_umask)
        if call.as_json:
            paths = [receipt.live_path for receipt in done.receipts]
            call.json({"ok": True, "night": night.manifest.night, "updated_paths": list(paths)})
        else:
            call.out(done.diff.rstrip("\n"))
            call.out(f"night {night.manifest.night} is taken back; its rules count as rejected")
    return 0
