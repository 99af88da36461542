"""`demo`: a toy project and a rule table in the place of a model; an accept and a reject, no key, no network."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from skillopt.sleep.cli.call import Call
from skillopt.sleep.demo import toy
from skillopt.sleep.night.inputs import pin
from skillopt.sleep.night.opening import INPUTS, run_night
from skillopt.sleep.settings.schema import DEFAULTS
from skillopt.sleep.staging.adopt import Selection, StagedNight, adopt
from skillopt.sleep.staging.close import revert
from skillopt.sleep.state.paths import StatePaths, new_night_id
from skillopt.sleep.state.rule_ledger import RuleLedger


def flags(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("--json", action="store_true", help="the answer as JSON")
    parser.add_argument("--keep", metavar="DIR", default="", help="keep the toy project here to look at it")


async def run(call: Call) -> int:
    """Hold a night on the toy project, adopt what it proved, and take it back."""
    if call.text("keep"):
        return await _in(call, call.text("keep"))
    with tempfile.TemporaryDirectory(prefix="skillopt-sleep-demo-") as folder:
        return await _in(call, folder)


async def _in(call: Call, folder: str) -> int:
    paths = _place(folder)
    model = toy.model()
    inputs = toy.inputs(paths.project, new_night_id(call.clock()))
    pin(paths.night(inputs.night).root / INPUTS, inputs)
    night = await run_night(DEFAULTS, paths, inputs, {"target": model, "optimizer": model}, say=call.say)
    if call.as_json:
        call.json(night.facts)
        return 0
    call.out((night.directory / "report.md").read_text(encoding="utf-8"))
    ledger = RuleLedger(paths.home)
    try:
        staged, _ = StagedNight.open(night.directory, paths.project, ledger)
        done = adopt(staged, Selection(), now=call.clock(), users_umask=call.users_umask, confirm=lambda _: False)
        call.out("## Adopted, as you would with `skillopt-sleep adopt`\n")
        call.out(done.diff)
        if not call.text("keep"):
            revert(staged, now=call.clock(), users_umask=call.users_umask)
            call.out("and taken back with `skillopt-sleep revert`: every byte is as it was.")
    finally:
        ledger.close()
    call.out("The model here was a rule table; `skillopt-sleep plan` shows what a real night would do.")
    return 0


def _place(folder: str) -> StatePaths:
    root = Path(folder).resolve()
    project = root / "shop"
    project.mkdir(parents=True, exist_ok=True)
    return StatePaths.of(root / "state", project)
