"""`skillopt blame`: line → edit → step → rollouts → verdict."""

from __future__ import annotations

import json
from pathlib import Path

from skillopt.api.explaining import Attempt, Cause, Support, Traced, blame
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.wording import interval, number
from skillopt.records.factorial import EffectRecord
from skillopt.records.gate import GateRecord, TrialRecord

_SHOWN_IDS = 8


def run_blame(asked: str, run: Path | None, *, as_json: bool) -> int:
    """`skillopt blame`."""
    screen = Screen(whole=True)
    found = blame(asked, run)
    traced, lines = found.traced, found.lines
    if as_json:
        screen.line(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    elif lines is None:
        _whole(screen, traced)
    else:
        for n in range(lines[0], lines[1] + 1):
            _one(screen, traced, n)
    return faults.DONE


def _whole(screen: Screen, traced: Traced) -> None:
    """Every line beside its origin, then each origin with its evidence once."""
    labels = [traced.cause(line).label for line in traced.lines]
    width = max(map(len, labels), default=0)
    digits = len(str(len(labels)))
    screen.line(f"Text: {traced.version.name} ({traced.version.skill.hash})")
    for n, (line, label) in enumerate(zip(traced.lines, labels, strict=True), start=1):
        screen.line(f"{n:>{digits}}  {label:<{width}}  {printable(line.text)}".rstrip())
    for name in traced.surviving():
        screen.line()
        screen.line(f"{traced.causes[name].label}:")
        _evidence(screen, traced, traced.causes[name])


def _one(screen: Screen, traced: Traced, n: int) -> None:
    line = traced.lines[n - 1]
    cause = traced.cause(line)
    screen.line(f"{n}: {printable(line.text)}")
    screen.line(f"  from        {cause.label}")
    _evidence(screen, traced, cause)
    for name in dict.fromkeys(line.earlier):
        screen.line(f"  replaced    words of {traced.causes[name].label}")


def _evidence(screen: Screen, traced: Traced, cause: Cause) -> None:
    """Where a cause's rollouts and verdicts are, and what they say."""
    screen.line(f"  views in    {cause.place}")
    for support in cause.support:
        screen.line(f"  drawn from  {_support(support)}")
    if cause.alone is not None:
        shared = cause.alone.edits
        how = "alone       " if shared == 1 else f"with {shared - 1} more "
        screen.line(f"  {how}{trial_words(cause.alone.trial)}")
    if cause.effect is not None:
        screen.line(f"  effect      {effect_words(cause.effect)}")
    if cause.gate is not None:
        screen.line(f"  verdict     {gate_words(cause.gate)}")
    elif cause.kind != "initial":
        screen.line("  verdict     none recorded")
    proof = traced.proofs.get(cause.name)
    if proof is not None:
        screen.line(f"  proven by   {proof.label}: {gate_words(proof.gate)}")


def _support(support: Support) -> str:
    how = {
        "verbatim": "",
        "reworded": ", reworded when merged",
        "merged": ", one of the groups it was merged from",
        "pairs": "",
    }[support.how]
    scores = {attempt.row.id: attempt for attempt in support.rollouts}
    shown = [_scored(i, scores.get(i)) for i in support.item_ids[:_SHOWN_IDS]]
    more = len(support.item_ids) - len(shown)
    text = f"{support.file}{how}: {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")
    places = dict.fromkeys(attempt.path.rpartition("/predictions/")[0] for attempt in support.rollouts)
    return text + (f"; rollouts in {', '.join(places)}" if places else "")


def _scored(item: str, attempt: Attempt | None) -> str:
    return f"{item} ({number(attempt.row.hard, 2)})" if attempt is not None and attempt.row.hard is not None else item


def gate_words(gate: GateRecord) -> str:
    """A verdict with what it rests on; nothing is said that the record does not hold."""
    parts = [gate.action.shout]
    if gate.trial is not None:
        won, lost = len(gate.trial.wins), len(gate.trial.losses)
        parts.append(f"trial: {won} won, {lost} lost on {gate.trial.n} training items")
    if gate.asked:
        of = f" on {gate.evaluated_n} of {gate.selection_n} measured" if gate.selection_n is not None else ""
        parts.append(f"{len(gate.wins)} won, {len(gate.losses)} lost{of}")
    if gate.interval:
        parts.append(f"95 % interval of the difference {interval(gate.interval)}")
    elif gate.early_stopped:
        parts.append("stopped early, so there is no interval")
    if gate.reason:
        parts.append(gate.reason)
    return "; ".join(parts)


def effect_words(row: EffectRecord) -> str:
    """What a line does to the mean score on training items, by a factorial search."""
    if row.effect is None or not row.interval:
        return "not tried yet"
    low, high = (f"{100 * end:+.1f}" for end in row.interval)
    times = "once" if row.support == 1 else f"{row.support} times"
    return (
        f"{100 * row.effect:+.1f} points on training items, 95 % interval {low} to {high}, by {row.rollouts} rollouts "
        f"that had it; proposed {times}"
    )


def trial_words(trial: TrialRecord) -> str:
    """A trial on training items in words."""
    return f"{len(trial.wins)} won, {len(trial.losses)} lost on {trial.evaluated_n} training items"


def printable(text: str) -> str:
    """A line without what a terminal would act on: skills hold what models wrote."""
    return "".join(char if char.isprintable() or char == "\t" else "·" for char in text.rstrip("\r"))
