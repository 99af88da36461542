"""`review`: a night's report, its diff, and what waits for a decision, as text, JSON or a page. Decides nothing."""

from __future__ import annotations

import argparse

from skillopt.core.json_types import JsonValue, parse_json
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.desk import add_night_argument, opened
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.manifest import edit_json
from skillopt.sleep.staging.page import page
from skillopt.sleep.state.private import write_text


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)
    add_night_argument(parser)
    parser.add_argument("--html", action="store_true", help="write the night as a page, report.html beside its report")


async def run(call: Call) -> int:
    """Show it."""
    with opened(call) as (night, _):
        report = (night.directory / "report.md").read_text(encoding="utf-8")
        diff = (night.directory / "changes.diff").read_text(encoding="utf-8")
        if call.as_json:
            facts = parse_json((night.directory / "report.json").read_bytes())
            call.json({"ok": True, "report": facts, "diff": diff, "targets": _targets(night)})
            return 0
        if call.args.html:
            path = night.directory / "report.html"
            write_text(path, page(report, diff, _waiting(night)))
            call.out(str(path))
            return 0
        call.out(report)
        if diff:
            call.out("## What would be written\n")
            call.out(diff)
        for line in _waiting(night):
            call.out(f"waits: {line}")
    return 0


def _waiting(night: StagedNight) -> list[str]:
    return [
        f"{target.name} {edit.id} {edit.op} {edit.text or edit.rule_id}"
        + (f"  [{', '.join(edit.screen)}]" if edit.screen else "")
        for target in night.manifest.targets
        for edit in night.pending(target)
    ]


def _targets(night: StagedNight) -> list[JsonValue]:
    return [
        {
            "name": target.name,
            "live_path": target.live_path,
            "stale": target.stale,
            "mirrors": target.mirrors,
            "pending": [edit_json(edit) for edit in night.pending(target)],
            "adopted": sorted(night.taken(target.name)),
        }
        for target in night.manifest.targets
    ]
