"""`skillopt ablate`: what each edit of a run's skill is worth, and the skill without those that pay nothing."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from skillopt.api.ablating import PRUNED, RESULT, Ablating, Ablation, Forecast, Wish, failed, prepare
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.explaining.blame import printable
from skillopt.cli.progress.live import Display
from skillopt.cli.wording import interval, number, plural, score_words, thousands, usd
from skillopt.records.beside.ablation import PrunedRecord
from skillopt.records.codec import encode_record

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
    wish: Wish
    yes: bool
    as_json: bool
    measure: bool = False
    """Leave each line out even where a factorial run knows its effect."""


def run_ablation(asked: AblationRequest, leftovers: list[str]) -> int:
    """`skillopt ablate`."""
    screen = Screen(sys.stderr) if asked.as_json else Screen()
    ablating = prepare(asked.run, asked.wish, config=asked.config, arguments=leftovers)
    if ablating.forecast is None:
        screen.line("Nothing to leave out: no edit has lines in this skill.")
        return faults.DONE
    wanted = asked.measure or asked.wish != Wish()
    if ablating.known and not wanted:
        _show_known(screen, ablating)
        if asked.as_json:
            rows = [encode_record(row) for row in ablating.known]
            Screen(whole=True).line(json.dumps(rows, ensure_ascii=False, indent=2))
        return faults.DONE
    for text in ablating.notices:
        screen.line(f"note: {text}")
    if not _agreed(screen, asked, ablating.forecast, ablating.wish):
        screen.line("not started")
        return faults.DONE
    result = asyncio.run(_run(screen, ablating))
    _show(screen, result, ablating.directory)
    if asked.as_json:
        Screen(whole=True).line(json.dumps(result.record().to_json(), ensure_ascii=False, indent=2))
    return faults.STOPPED if failed(result) else faults.DONE


async def _run(screen: Screen, ablating: Ablating) -> Ablation:
    with Display(screen, workers=ablating.resolved.config.env.workers) as display:
        return await ablating.run([display])


def _show_known(screen: Screen, ablating: Ablating) -> None:
    """The effects that a factorial run has measured anyway."""
    screen.line("This run has measured every line with all the others, on training tasks; nothing is paid again.")
    for row in ablating.known:
        text = " ".join(str(row.edit.get("content") or f"without: {row.edit.get('target')}").split())
        low, high = row.interval or (0.0, 0.0)
        verdict = _VERDICTS["pays" if low > 0 else "harms" if high < 0 else "not shown"]
        screen.line(f"line {row.line}: {printable(text)[:_SHOWN]}")
        screen.line(
            f"  worth {row.effect or 0.0:+.4f} {interval(row.interval)} on {plural(row.rollouts, 'rollout')}: {verdict}"
        )
    screen.line(
        "--measure leaves each line out on the selection split, --prune writes the skill without what pays nothing"
    )


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
    shown = result.full.shown if result.full is not None else None
    screen.line(f"Full skill: {score_words(result.full, shown)} on the {result.wish.split} split")
    for part, effect in result.rows:
        screen.line(f"{part.cause.label}: {' / '.join(printable(line.strip()) for line in part.lines)[:_SHOWN]}")
        saved = f"{part.saved(result.skill).tokens} tokens"
        if effect is None or effect.worth is None:
            screen.line(f"  {saved}; not measured")
        else:
            screen.line(
                f"  {saved}; worth {effect.worth:+.4f} {interval(effect.interval)}, {len(effect.won)} won, "
                f"{len(effect.lost)} lost on {plural(effect.n, 'item')}: {_VERDICTS[effect.verdict]}"
            )
    if result.pruned is not None:
        _show_pruned(screen, result.pruned, place)
    if result.stop is not None:
        screen.line(f"stopped: {result.stop}")
    screen.line(f"Results: {place / RESULT}")


def _show_pruned(screen: Screen, pruned: PrunedRecord, place: Path) -> None:
    d, saved = pruned.difference, pruned.saved
    if d is not None and saved is not None and pruned.pruned is not None and pruned.full is not None:
        worth = "not measured" if d.worth is None else f"difference {d.worth:+.4f} {interval(d.interval)}"
        screen.line(
            f"Without {plural(len(pruned.left_out), 'edit')} ({saved.tokens} tokens less): "
            f"{number(pruned.pruned.shown)} against {number(pruned.full.shown)}, {worth}"
        )
    kept = f"written to {place / PRUNED}" if pruned.accepted else "nothing was written"
    screen.line(f"Pruning: {kept}: {pruned.reason}")
