"""`skillopt selftest`: the current skill against itself, before a run is paid for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from skillopt.api.given.configuring import Resolved
from skillopt.api.measuring import SelfTest, skill_to_test
from skillopt.api.measuring import run_selftest as measure
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.cli.wording import percent, plural, score_words


def run_selftest(resolved: Resolved, path: Path | None) -> int:
    """`skillopt selftest`."""
    screen = Screen()
    skill, out_root = skill_to_test(resolved.config, path)
    with Display(screen, workers=resolved.config.env.workers) as display:
        result = asyncio.run(measure(resolved, skill, out_root, [display]))
    show(screen, result)
    screen.line(f"Result: {out_root / 'selftest.json'}")
    return faults.DONE


def show(screen: Screen, result: SelfTest) -> None:
    """The findings in sentences."""
    draws = [score_words(draw, draw.shown) for draw in (result.first, result.second)]
    screen.line(f"Two draws of one skill: {draws[0]} and {draws[1]}")
    comparison = result.comparison
    wins, losses = (comparison.wins, comparison.losses) if comparison is not None else (0, 0)
    screen.line(
        f"Noise floor: {percent(result.noise)} of {plural(result.n, 'item')} answered differently "
        f"({wins} won, {losses} lost by luck alone)"
    )
    screen.line(f"A copy of the skill: strict gate says {result.verdicts.strict}, paired gate {result.verdicts.paired}")
    screen.line(f"The strict gate keeps an edit that does nothing with chance {result.lucky:.2f} a step")
    gain = result.smallest_gain
    can = "no gain can be proven" if gain is None else f"the smallest gain it proves is {100 * gain:.1f} points"
    screen.line(f"Paired gate at level {result.alpha:g}, 80 % power: {can}")
    for repeats, value in result.repeats_gain.items():
        if value is not None:
            screen.line(f"  with {repeats} repeats an item: {100 * value:.1f} points")
    for points, items in result.items_for.items():
        more = "more than 2,000 items" if items is None else f"{items} items ({max(0, items - result.n)} more)"
        screen.line(f"  to see {100 * float(points):g} points: {more}")
    for text in result.warnings:
        screen.line(f"warning: {text}")
