"""`adopt`: apply a proposal to the live files, on a person's word."""

from __future__ import annotations

import argparse

from skillopt.core.json_types import JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.desk import add_night_argument, opened
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import SelectionRequired
from skillopt.sleep.proposal.screen import CODES
from skillopt.sleep.staging.adopt import Selection, StagedNight, adopt


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    add_night_argument(parser)
    parser.add_argument("--target", action="append", metavar="NAME", help="a target document (repeatable)")
    parser.add_argument("--rule", action="append", metavar="ID", help="a rule (repeatable)")
    parser.add_argument("--all", action="store_true", help="every target of the night")
    parser.add_argument("--allow", action="append", choices=CODES, metavar="CODE",
                        help="take a rule in spite of this code of the content screen")  # fmt: skip
    parser.add_argument("--staging", metavar="DIR", help="the night by its directory")
    parser.add_argument("--yes", action="store_true", help="do not ask about the staged diff")


async def run(call: Call) -> int:
    """Adopt; 2 where a choice is needed."""
    with opened(call, directory=call.text("staging")) as (night, _):
        choice = Selection(call.texts("target"), call.texts("rule"), call.texts("allow"), call.on("all"))
        try:
            done = adopt(
                night, choice, now=call.clock(), users_umask=call.users_umask, confirm=lambda d: _confirmed(call, d)
            )
        except SelectionRequired as fault:
            if not call.as_json:
                raise
            call.json({"ok": False, "error": fault.name, "message": str(fault), "available_targets": _choices(night)})
            return fault.exit_code
        if call.as_json:
            call.json(
                {
                    "ok": True,
                    "staging_dir": str(night.directory),
                    "mode": "rules" if choice.rules else "targets" if choice.targets else "all",
                    "adopted_targets": [receipt.target for receipt in done.receipts],
                    "adopted_rules": list(done.rules),
                    "updated_paths": [receipt.live_path for receipt in done.receipts],
                }
            )
            return 0
        call.out(done.diff.rstrip("\n"))
        for receipt in done.receipts:
            call.out(f"adopted {len(receipt.rules)} rule(s) into {receipt.live_path}")
        call.out(f"to take it back: skillopt-sleep revert {night.manifest.night}")
        left = sum(len(night.pending(target)) for target in night.manifest.targets)
        if left:
            call.out(f"{left} rule(s) of this night still wait: skillopt-sleep review {night.manifest.night}")
    return 0


def _choices(night: StagedNight) -> list[JsonValue]:
    return [
        {"name": t.name, "live_path": t.live_path, "rules": [edit.id for edit in night.pending(t)]}
        for t in night.manifest.targets
        if night.pending(t)
    ]


def _confirmed(call: Call, diff: str) -> bool:
    """A diff that nobody has seen is shown and asked about; where nobody can answer, the answer is no."""
    call.say("the live file changed since the night; this is what would be written now:\n" + diff)
    if not call.stdin.isatty():
        return False
    call.say("write it? [y/N]")
    return call.stdin.readline().strip().casefold() in ("y", "yes")
