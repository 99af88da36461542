"""`skillopt ablate`: what each edit of a run's skill is worth, and the skill without those that pay nothing."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from skillopt.api import measuring
from skillopt.cli import faults
from skillopt.cli.blame import printable
from skillopt.cli.commands.options import resolve_arguments
from skillopt.cli.console import Screen
from skillopt.cli.live import Display
from skillopt.cli.wording import interval, number, plural, score_words, thousands, usd
from skillopt.config import Resolved
from skillopt.core.errors import BudgetExceeded, DataError
from skillopt.engine.evaluate import split_names
from skillopt.explain.ablation import PRUNED, RESULT, Ablation, Wish, place_of
from skillopt.explain.ablation_forecast import Forecast, check_same_run, forecast
from skillopt.explain.edit_worth import parts
from skillopt.explain.provenance import Traced
from skillopt.explain.skill_ref import explained, named_skill
from skillopt.records.reading import Run

_SHOWN = 90
_VERDICTS = {
    "pays": "it pays",
    "harms": "it harms",
    "not shown": "not shown to do anything",
    "not measured": "too few items for an interval",
}


@dataclass(frozen=True)
class AblationRequest:
    """The arguments."""

    run: str
    config: Path | None
    split: str
    wish: Wish
    yes: bool
    as_json: bool


def run_ablation(asked: AblationRequest, leftovers: list[str]) -> int:
    """`skillopt ablate`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    names = split_names(asked.split)
    if len(names) != 1:
        raise DataError("an ablation is measured on one split", hint="choose selection, train or test with --split")
    wish = Wish(names[0], asked.wish.prune, asked.wish.threshold, asked.wish.margin)
    named = named_skill(asked.run)
    traced, run = explained(named), named.run
    assert run is not None  # explained raises for a skill without a run
    resolved = resolve_arguments(asked.config or run.root / "config.yaml", leftovers)
    check_same_run(resolved.config, run)
    if not parts(traced):
        screen.line("Nothing to leave out: no edit has lines in this skill.")
        return faults.DONE
    if wish.split == "test":
        screen.line("note: this reads the sealed test split; what is chosen by it cannot be tested on it any more")
    if not _agreed(screen, asked, forecast(resolved.config, run, traced, wish), wish):
        screen.line("not started")
        return faults.DONE
    result = asyncio.run(_run(screen, resolved, run, traced, wish))
    _show(screen, result, place_of(run.root))
    if asked.as_json:
        Screen().line(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
    return faults.STOPPED if result.stop and not isinstance(result.stop, BudgetExceeded) else faults.DONE


async def _run(screen: Screen, resolved: Resolved, run: Run, traced: Traced, wish: Wish) -> Ablation:
    with Display(screen, workers=resolved.config.env.workers) as display:
        return await measuring.run_ablation(resolved, run, traced, wish, place_of(run.root), [display])


def _agreed(screen: Screen, asked: AblationRequest, plan: Forecast, wish: Wish) -> bool:
    """The plan; asks once, at a terminal, when it may cost money."""
    screen.line(
        f"Plan: {plural(plan.edits, 'edit')} left out in turn, {plural(plan.texts, 'text')} on the {wish.split} split: "
        f"at most {thousands(plan.calls)} calls, money at most {usd(plan.usd)}; what the run has paid for is free"
    )
    if asked.yes or not plan.usd:
        return True
    if not screen.live or not sys.stdin.isatty():
        screen.line("note: there is no terminal to ask at, so it starts without asking")
        return True
    return typer.confirm(f"This may cost up to {usd(plan.usd)}. Start?", default=False)


def _show(screen: Screen, result: Ablation, place: Path) -> None:
    screen.line()
    screen.line(f"Full skill: {score_words(result.full)} on the {result.wish.split} split")
    for part, effect in result.rows:
        screen.line(f"{part.cause.label}: {' / '.join(printable(line.strip()) for line in part.lines)[:_SHOWN]}")
        saved = f"{part.saved(result.skill)['tokens']} tokens"
        if effect is None or effect.worth is None:
            screen.line(f"  {saved}; not measured")
        else:
            screen.line(
                f"  {saved}; worth {effect.worth:+.4f} {interval(effect.interval)}, {len(effect.won)} won, "
                f"{len(effect.lost)} lost on {plural(effect.n, 'item')}: {_VERDICTS[effect.verdict]}"
            )
    if result.pruned is not None:
        _show_pruned(screen, result, place)
    if result.stop is not None:
        screen.line(f"stopped: {result.stop}")
    screen.line(f"Results: {place / RESULT}")


def _show_pruned(screen: Screen, result: Ablation, place: Path) -> None:
    pruned = result.pruned or {}
    if pruned.get("difference"):
        d = pruned["difference"]
        screen.line(
            f"Without {plural(len(pruned['left_out']), 'edit')} ({pruned['saved']['tokens']} tokens less): "
            f"{number(pruned['pruned']['hard'])} against {number(pruned['full']['hard'])}, "
            f"difference {d['worth']:+.4f} {interval(d['interval'])}"
        )
    kept = f"written to {place / PRUNED}" if pruned["accepted"] else "nothing was written"
    screen.line(f"Pruning: {kept}: {pruned['reason']}")
