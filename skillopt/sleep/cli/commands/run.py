"""`run`: a night. Ingest, mine, replay, gate, stage; nothing live is changed."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from skillopt.core.errors import FatalModelError
from skillopt.core.json_types import JsonValue
from skillopt.sleep.backends.choose import roles_of
from skillopt.sleep.cli.call import Call
from skillopt.sleep.cli.commands.plan import forecast_lines
from skillopt.sleep.cli.flags import add_night_flags, add_place_flags, add_source_flags
from skillopt.sleep.cli.scope import each_project
from skillopt.sleep.cli.survey_lines import survey_lines
from skillopt.sleep.errors import BackendError, Locked, Refused
from skillopt.sleep.forecast import forecast
from skillopt.sleep.mining.archive import TaskArchive
from skillopt.sleep.mining.split import SplitLedger
from skillopt.sleep.night.enlarge import enlarged
from skillopt.sleep.night.gather import Desk, file_inputs, hosts_of, mined_inputs
from skillopt.sleep.night.inputs import pin, pinned
from skillopt.sleep.night.mine import Miner
from skillopt.sleep.night.opening import INPUTS, Night, abandon, held, locked, unfinished, workroom
from skillopt.sleep.night.orders import adopt_by_order
from skillopt.sleep.redact import redact
from skillopt.sleep.settings.reading import Resolved
from skillopt.sleep.staging.manifest import read_manifest
from skillopt.sleep.state import projects
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.logs import LastJob, put_last_job, rotate
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
    return await each_project(call, _one)


async def _one(call: Call) -> int:
    """One project's night. A job that finds the lock held or no login says so in the log and in `status`, no more."""
    if not call.on("scheduled"):
        return await _night(call)
    paths = call.paths(call.resolved())
    rotate(paths.logs / f"{Path(call.text('config')).stem}.log")
    try:
        code = await _night(call)
    except (Locked, BackendError, FatalModelError) as fault:
        paths.make_home()
        put_last_job(paths, LastJob(call.clock(), redact(str(fault))))
        call.say(f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(call.clock()))} no night: {fault}")
        return 0
    put_last_job(paths, None)
    return code


async def _night(call: Call) -> int:
    resolved = call.resolved()
    paths = call.paths(resolved)
    with locked(paths):
        now = call.clock()
        projects.remember(paths, now=now)
        with StateDatabase(paths.digests) as database:
            seen = survey(database, paths.project, resolved.settings, now=now)
            going_on = "" if call.on("new") else unfinished(paths)
            if going_on and call.text("tasks_file"):
                _of_this_file(call, paths, going_on)
            _agreed(call, resolved, database, seen, going_on)
            done = await _held(call, resolved, paths, database, seen, going_on or new_night_id(now), now)
            inputs = done.result.inputs
            if inputs.surveyed_at is not None:
                database.set_meta(LAST_NIGHT, str(inputs.surveyed_at))
                database.set_meta(WAITING, json.dumps(list(inputs.left_out)))
        adopted = adopt_by_order(paths, done, call.clock(), call.users_umask) if resolved.settings.auto_adopt else []
    _tell(call, done, adopted)
    return 0


async def _held(
    call: Call, resolved: Resolved, paths: StatePaths, database: StateDatabase, seen: Survey, night: str, now: float
) -> Night:
    """What refuses a night (no backend, no target, a task file nobody reviewed) does so before the night exists."""
    settings, hosts = resolved.settings, hosts_of(seen.by_origin)
    handoff = Path(settings.handoff_dir) if settings.handoff_dir else paths.handoff
    roles, said = roles_of(settings, call.environ, hosts, handoff / night)
    for line in said:
        call.say(line)
    inputs = pinned(paths.night(night).root / INPUTS)
    desk = Desk.of(settings, paths.project, hosts) if inputs is None else Desk()
    if inputs is None and call.text("tasks_file"):
        inputs = file_inputs(call.path("tasks_file"), database, settings, desk, paths.project, night, now=now)
    abandon(paths, but=night)
    async with workroom(settings, paths, night, roles) as room:
        if inputs is None:
            names = {cluster.id: cluster.name for cluster in seen.clusters}
            miner = Miner(room.calls, room.prompts, room.judging, room.evidence, names)
            inputs = await mined_inputs(database, seen, miner, settings, desk, paths.project, night, now=now)
        if not room.inputs_path.is_file():
            recalled = TaskArchive(database).recalled(inputs.tasks, settings.recall_k)
            inputs = await enlarged(inputs, recalled, settings.dream_factor, room.calls, room.prompts, room.evidence)
        pin(room.inputs_path, inputs)
        return await held(room, inputs, call.say if settings.progress else lambda _: None)


def _of_this_file(call: Call, paths: StatePaths, night: str) -> None:
    """An unfinished night goes on with its own tasks; another task file is not taken up silently."""
    inputs, path = pinned(paths.night(night).root / INPUTS), call.path("tasks_file")
    if inputs is None or inputs.facts.get("tasks_file") != str(path):
        raise Refused(f"night {night} is not finished, and its tasks are not those of {path}",
                      hint="finish it without --tasks-file, or say --new")  # fmt: skip


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
