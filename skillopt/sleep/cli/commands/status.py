"""`status`: last nights, what waits, what is in force, whether a night is running. Changes nothing."""

from __future__ import annotations

import argparse

from skillopt.core.errors import JournalError
from skillopt.core.json_types import JsonValue, as_array, as_object, as_text
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.flags import add_place_flags
from skillopt.sleep.errors import StagingError
from skillopt.sleep.night.opening import unfinished
from skillopt.sleep.schedule.job import options_path
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.manifest import latest, published
from skillopt.sleep.state.logs import last_job
from skillopt.sleep.state.paths import StatePaths
from skillopt.sleep.state.rule_ledger import NAME, RuleLedger
from skillopt.store.journal import Journal
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
        "calls_so_far": _calls(paths, unfinished(paths)),
        "schedule": str(options) if (options := options_path(paths)).is_file() else None,
        "last_job": {"at": job.at, "message": job.message} if (job := last_job(paths)) else None,
        "unfinished": unfinished(paths) or None,
        "staged_targets": pending,
        "adopted_targets": adopted,
        "rules": rules,
        "has_pending_proposal": bool(pending),
        "staging_error": problem or None,
    }


def _calls(paths: StatePaths, night: str) -> int | None:
    """Calls that the unfinished night has paid."""
    path = paths.night(night).journal if night else None
    if path is None or not path.is_file():
        return None
    try:
        journal = Journal.open(path, replay=True)
    except JournalError:  # it is being made at this moment
        return None
    try:
        return journal.count("call")
    finally:
        journal.close()


def told(facts: dict[str, JsonValue]) -> list[str]:
    """The same for a person."""
    lines = [f"project {facts['project']}", f"state   {facts['state_path']}"]
    history = [as_object(row) for row in as_array(facts["history_tail"])]
    if not history:
        lines.append("no night yet: skillopt-sleep plan shows what one would do, skillopt-sleep demo how it looks")
    lines += [f"night {row.get('night')}: {str(row.get('verdict')).replace('_', ' ')}" for row in history]
    if facts["running"]:
        where = f"{facts['unfinished']}, {facts['calls_so_far']} calls so far" if facts["unfinished"] else ""
        lines.append(f"a night is running: {where or 'it is reading sessions'}")
    elif facts["unfinished"]:
        lines.append(f"night {facts['unfinished']} is not finished: skillopt-sleep run goes on with it")
    for name, word in (("staged_targets", "waits for you"), ("adopted_targets", "in force")):
        for row in map(as_object, as_array(facts[name])):
            lines.append(f"{word}: {row.get('rules')} rule(s) for {row.get('name')}, night {row.get('night')}")
    for rule in map(as_object, as_array(facts["rules"])):
        lines.append(f"  rule {rule.get('id')} in {rule.get('target')}: {rule.get('text')}  "
                     f"({rule.get('wins')} won, {rule.get('losses')} lost)")  # fmt: skip
    if facts["schedule"]:
        lines.append(f"scheduled every night, its options are {facts['schedule']}")
    if facts["last_job"]:
        lines.append(f"the last scheduled night was not held: {as_object(facts['last_job']).get('message')}")
    if facts["staging_error"]:
        lines.append(f"a staged night cannot be read: {facts['staging_error']}")
    if facts["has_pending_proposal"]:
        waiting = max(as_text(as_object(row).get("night")) for row in as_array(facts["staged_targets"]))
        night = (
            "" if waiting == facts["night"] else f" {waiting}"
        )  # review, adopt and reject take the newest by themselves
        lines.append(f"next: skillopt-sleep review{night}, then skillopt-sleep adopt{night} or "
                     f"skillopt-sleep reject{night} --why TEXT")  # fmt: skip
    return lines
