"""`status`: last nights, what waits, what is in force, whether a night is running. Changes nothing."""

from __future__ import annotations

import argparse

from skillopt.core.json_types import JsonValue, as_array, as_object
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import StagingError
from skillopt.sleep.night.opening import unfinished
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.manifest import latest, published
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import NAME, RuleLedger
from skillopt.store.lock import is_locked


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_place_flags(parser)


async def run(call: Call) -> int:
    """Show it."""
    paths = call.paths(call.resolved())
    facts = facts_of(paths)
    if call.as_json:
        call.json(facts)
        return 0
    for line in told(facts):
        call.out(line)
    return 0


def facts_of(paths: StatePaths) -> dict[str, JsonValue]:
    """The object of `status --json`."""
    history: list[JsonValue] = []
    rules: list[JsonValue] = []
    pending: list[JsonValue] = []
    adopted: list[JsonValue] = []
    problem = ""
    if (paths.home / NAME).is_file():
        ledger = RuleLedger(paths.home)
        try:
            history = [*ledger.nights()[-5:]]
            rules = [
                {"id": r.id, "text": r.text, "target": r.target, "night": r.night, "wins": r.wins, "losses": r.losses}
                for r in ledger.rules()
                if r.state == "in_force"
            ]
            for name in published(paths.staging):
                try:
                    night, _ = StagedNight.open(paths.staging / name, paths.project, ledger)
                except StagingError as fault:
                    problem = str(fault)
                    continue
                for target in night.manifest.targets:
                    for ids, into in ((night.pending(target), pending), (sorted(night.taken(target.name)), adopted)):
                        if ids:
                            into.append({"night": name, "name": target.name, "rules": len(ids)})
        finally:
            ledger.close()
    return {
        "night": latest(paths.staging) or None,
        "state_path": str(paths.home),
        "project": str(paths.project),
        "history_tail": history,
        "latest_staging": str(paths.staging / latest(paths.staging)) if latest(paths.staging) else None,
        "running": is_locked(paths.home),
        "unfinished": unfinished(paths) or None,
        "staged_targets": pending,
        "adopted_targets": adopted,
        "rules": rules,
        "has_pending_proposal": bool(pending),
        "staging_error": problem or None,
    }


def told(facts: dict[str, JsonValue]) -> list[str]:
    """The same for a person."""
    lines = [f"project {facts['project']}", f"state   {facts['state_path']}"]
    history = [as_object(row) for row in as_array(facts["history_tail"])]
    if not history:
        lines.append("no night yet: skillopt-sleep plan shows what one would do, skillopt-sleep demo how it looks")
    lines += [f"night {row.get('night')}: {str(row.get('verdict')).replace('_', ' ')}" for row in history]
    if facts["running"]:
        lines.append(f"a night is running: {facts['unfinished'] or 'it is reading sessions'}")
    elif facts["unfinished"]:
        lines.append(f"night {facts['unfinished']} is not finished: skillopt-sleep run goes on with it")
    for name, word in (("staged_targets", "waits for you"), ("adopted_targets", "in force")):
        for row in map(as_object, as_array(facts[name])):
            lines.append(f"{word}: {row.get('rules')} rule(s) for {row.get('name')}, night {row.get('night')}")
    if facts["staging_error"]:
        lines.append(f"a staged night cannot be read: {facts['staging_error']}")
    if facts["has_pending_proposal"]:
        lines.append("next: skillopt-sleep review, then skillopt-sleep adopt or skillopt-sleep reject --why TEXT")
    return lines
