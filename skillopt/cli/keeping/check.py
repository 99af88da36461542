"""`skillopt check`: a verdict a suite, and one exit code for all of them.

0 held, 1 regressed, 2 not measured, 3 configuration. What regressed beats what could not be measured.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.api.keep import make_suite
from skillopt.api.keeping.check import Checked, CheckWish, check_suite
from skillopt.api.keeping.grid import targets_of
from skillopt.api.keeping.suite import find_suites
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.keeping.github import write_github
from skillopt.cli.keeping.words import body_of, lines_of
from skillopt.cli.progress.live import Display
from skillopt.cli.wording import plural
from skillopt.core.errors import ConfigError, ModelError, SkillOptError, StopRun

HELD, REGRESSED, NOT_MEASURED, CONFIGURATION = 0, 1, 2, 3


@dataclass(frozen=True)
class CheckArgs:
    """The arguments."""

    paths: list[str]
    against: str
    model: str
    harness: str
    margin: float | None
    max_usd: float | None
    replay: bool
    as_suite: Path | None
    skill: Path | None
    github: bool
    as_json: bool


def run_check(asked: CheckArgs, leftovers: list[str]) -> int:
    """`skillopt check`, with exit codes of its own."""
    try:
        asked, overrides = _sorted(asked, leftovers)
        return _make(asked, overrides) if asked.as_suite is not None else _check(asked, overrides)
    except (StopRun, ModelError) as error:
        faults.report(error)
        return NOT_MEASURED
    except SkillOptError as error:
        faults.report(error)
        return CONFIGURATION


def _sorted(asked: CheckArgs, leftovers: list[str]) -> tuple[CheckArgs, list[str]]:
    """Typer gives `key=value` to the paths, because there may be any number of them."""
    unknown = [path for path in asked.paths if path.startswith("-")]
    if unknown:
        raise ConfigError(
            f"no such option: {unknown[0]}", hint="see skillopt check --help; keys are given as key=value"
        )
    keys = [path for path in asked.paths if "=" in path and not Path(path).exists()]
    paths = [path for path in asked.paths if path not in keys]
    return replace(asked, paths=paths), [*leftovers, *keys]


def _make(asked: CheckArgs, overrides: list[str]) -> int:
    screen = Screen()
    if overrides:
        raise ConfigError(f"{overrides[0]}: --as-suite takes no keys", hint="the configuration is the run's")
    if len(asked.paths) != 1 or asked.as_suite is None:
        raise ConfigError("--as-suite is made of one run", hint="skillopt check RUN --as-suite suites/NAME")
    made = make_suite(asked.paths[0], asked.as_suite, skill=asked.skill, margin=asked.margin or 0.0)
    screen.line(f"Made {made.suite.root}: {plural(made.items, 'item')}, {len(made.suite.said.fixed)} of them gained")
    screen.line(f"Skill under test: {made.suite.skill}")
    screen.line(f"Next: skillopt check {made.suite.root} --replay")
    return HELD


def _check(asked: CheckArgs, leftovers: list[str]) -> int:
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    suites = find_suites([Path(path) for path in asked.paths or ["."]])
    ((label, keys),) = targets_of(
        [asked.harness] if asked.harness else [], [asked.model] if asked.model else []
    ).items()  # fmt: skip
    cap = [f"budget.max_usd={asked.max_usd}"] if asked.max_usd is not None else []
    wish = CheckWish(
        asked.against, keys, label if keys else "", asked.margin, asked.replay, [*leftovers, *cap]
    )  # fmt: skip

    async def each() -> list[Checked]:
        with Display(screen) as display:
            return [
                await check_suite(suite, wish, claims=len(suites), watch=lambda _: [] if asked.replay else [display])
                for suite in suites
            ]

    done = asyncio.run(each())
    for one in done:
        for text in lines_of(one):
            screen.line(text)
    if asked.as_json:
        Screen(whole=True).line(json.dumps([body_of(one) for one in done], ensure_ascii=False, indent=2))
    if asked.github:
        write_github(Screen(sys.stderr if asked.as_json else sys.stdout), done, os.environ)
    return exit_code(done)


def exit_code(done: Sequence[Checked]) -> int:
    """One code for all suites."""
    standings = {one.standing for one in done}
    if "regressed" in standings:
        return REGRESSED
    return NOT_MEASURED if "not measured" in standings else HELD
