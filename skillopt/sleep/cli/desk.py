"""What the commands around a staged night share: finding it, opening it, telling what a crash had left."""

from __future__ import annotations

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skillopt.sleep.cli.call import Call
from skillopt.sleep.errors import StagingError, UsageError
from skillopt.sleep.staging.adopt import StagedNight
from skillopt.sleep.staging.manifest import latest, published
from skillopt.sleep.state.paths import StatePaths, is_night_id
from skillopt.sleep.state.rule_ledger import RuleLedger


def add_night_argument(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """The night a command is about."""
    parser.add_argument("night", nargs=None if required else "?", metavar="NIGHT", help="a night (default: the latest)")


@contextmanager
def opened(call: Call, *, directory: str = "") -> Generator[tuple[StagedNight, StatePaths]]:
    """The night that was named, or the latest, with what an interrupted command left settled and told."""
    paths = call.paths(call.resolved())
    name = call.text("night") or (Path(directory).name if directory else "") or latest(paths.staging)
    if not name:
        raise StagingError("no night is staged", hint="run skillopt-sleep run, or skillopt-sleep status")
    if not is_night_id(name):
        raise UsageError(f"{name!r} names no night", hint=f"there are {', '.join(published(paths.staging)) or 'none'}")
    ledger = RuleLedger(paths.home)
    try:
        night, said = StagedNight.open(Path(directory or paths.staging / name), paths.project, ledger)
        for line in said:
            call.say(line)
        yield night, paths
    finally:
        ledger.close()
