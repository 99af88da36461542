"""`run`: a night. Ingest, mine, replay, gate, stage; nothing live is changed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.sleep.backends.choose import roles_of
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.commands.plan import forecast_lines
from skillopt.sleep.cli.flags import add_night_flags, add_place_flags, add_source_flags
from skillopt.sleep.cli.survey_lines import survey_lines
from skillopt.sleep.errors import Refused, UsageError
from skillopt.sleep.forecast import forecast
from skillopt.sleep.mining.split import SplitLedger
from skillopt.sleep.night.gather import file_inputs, hosts_of, mined_inputs
from skillopt.sleep.night.inputs import NightInputs, pin, pinned
from skillopt.sleep.night.mine import Miner
from skillopt.sleep.night.opening import Night, Workroom, held, locked, unfinished, workroom
from skillopt.sleep.night.orders import adopt_by_order
from skillopt.sleep.settings.reading import Resolved
from skillopt.sleep.staging.manifest import read_manifest
from skillopt.sleep.state import projects
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.paths import StatePaths, new_night_id
from skillopt.sleep.survey import LAST_NIGHT, WAITING, Survey, survey


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    add_place_flags(parser)
    add_source_flags(parser)
    add_night_flags(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask about the plan")
    parser.add_argument("--new", action="store_true", help="begin another night, also where one is unfinished")
    parser.add_argument("--auto-adopt", action="store_true", default=argparse.SUPPRESS,
                        help="adopt what was proven, confirmed and met nothing in the content screen")  # fmt: skip
    parser.add_argument("--scheduled", action="store_true", help=argparse.SUPPRESS)


async def run(call: Call) -> int:
    """Hold a night."""
    resolved = call.resolved()
    if resolved.settings.projects != ("invoked",):
        raise UsageError("run holds the night of one project", hint="run it once for each, with --project PATH")
    paths = call.paths(resolved)
    with locked(paths):
        projects.remember(paths, now=call.clock())
        with StateDatabase(paths.digests) as database:
            seen = survey(database, paths.project, resolved.settings, now=call.clock())
            going_on = "" if call.on("new") else unfinished(paths)
            _agreed(call, resolved, database, seen, going_on)
            night = going_on or new_night_id(call.clock())
            done = await _held(call, resolved, paths, database, seen, night)
            database.set_meta(LAST_NIGHT, str(call.clock()))
            database.set_meta(WAITING, json.dumps(list(seen.selection.left_out)))
        adopted = adopt_by_order(paths, done, call.clock(), call.users_umask) if resolved.settings.auto_adopt else []
    _tell(call, done, adopted)
    return 0


async def _held(
    call: Call, resolved: Resolved, paths: StatePaths, database: StateDatabase, seen: Survey, night: str
) -> Night:
    settings = resolved.settings
    roles, said = roles_of(settings, call.environ, hosts_of(seen.by_origin), paths.handoff / night)
    for line in said:
        call.say(line)
    async with workroom(settings, paths, night, roles) as room:
        inputs = pinned(room.inputs_path) or await _inputs(call, room, database, seen)
        pin(room.inputs_path, inputs)
        return await held(room, inputs, call.say if settings.progress else lambda _: None)


async def _inputs(call: Call, room: Workroom, database: StateDatabase, seen: Survey) -> NightInputs:
    settings, project = room.settings, room.paths.project
    file = call.text("tasks_file")
    if file:
        path = Path(file)
        return file_inputs(path, database, settings, project, room.night, hosts_of(seen.by_origin), now=call.clock())
    names = {cluster.id: cluster.name for cluster in seen.clusters}
    miner = Miner(room.calls, room.prompts, room.judging, room.evidence, names)
    return await mined_inputs(database, seen, miner, settings, project, room.night, now=call.clock())


def _agreed(call: Call, resolved: Resolved, database: StateDatabase, seen: Survey, going_on: str) -> None:
    """Ask about the plan where a person can answer; `--yes` and a schedule skip the question, never the caps."""
    if going_on:
        call.say(f"night {going_on} goes on")
        return
    if call.on("yes") or call.on("scheduled") or call.as_json or not call.stdin.isatty():
        return
    planned = forecast(seen.selection, resolved.settings, SplitLedger(database).known())
    for line in (*survey_lines(seen), *forecast_lines(planned, resolved)):
        call.say(line)
    call.say("hold this night? [y/N]")
    if call.stdin.readline().strip().casefold() not in ("y", "yes"):
        raise Refused("the plan was not confirmed", hint="nothing was spent; --yes skips the question")


def _tell(call: Call, done: Night, adopted: list[str]) -> None:
    manifest = read_manifest(done.directory, Path(done.result.inputs.project))
    targets: list[JsonValue] = [target.name for target in manifest.targets]
    facts = {**done.facts, "staging_dir": str(done.directory), "staged_targets": targets, "adopted": list(adopted)}
    if call.as_json:
        call.json({"ok": True, **facts})
        return
    call.out(f"night {done.result.inputs.night}: {done.result.verdict.replace('_', ' ')}")
    call.out(done.result.reason)
    for path in adopted:
        call.out(
            f"adopted by your standing order: {path}; skillopt-sleep revert {done.result.inputs.night} takes it back"
        )
    if done.result.verdict in ("accepted", "unproven"):
        call.out(f"look at it: skillopt-sleep review {done.result.inputs.night}")
