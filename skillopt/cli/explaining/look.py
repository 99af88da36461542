"""`skillopt show` and `skillopt view`: a run or one of its items on the screen, and a run as a page."""

from __future__ import annotations

import json
import webbrowser
from dataclasses import fields
from pathlib import Path

from rich.table import Table

from skillopt.api.looking import Answer, ItemView, Overview, item, look, view, visible
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.label_tables import show_both
from skillopt.cli.wording import interval, number, plural, score_words
from skillopt.records.codec import encode, encode_record

_MOST_TEXT, _MOST_ROWS = 4_000, 20


def run_show(run: Path, name: str, *, as_json: bool) -> int:
    """`skillopt show`."""
    screen = Screen(whole=True)
    if name:
        found = item(run, name)
        if as_json:
            screen.line(json.dumps({**encode_record(found), "verdict": found.verdict}, ensure_ascii=False, indent=2))
        else:
            _item(screen, run, found)
        return faults.DONE
    seen = look(run)
    if as_json:
        screen.line(json.dumps(_body(seen), ensure_ascii=False, indent=2))
    else:
        _run(screen, seen)
    return faults.DONE


def run_view(run: Path, out: Path | None, *, opened: bool) -> int:
    """`skillopt view`."""
    path = view(run, out)
    Screen().line(str(path))
    if opened:
        webbrowser.open(path.resolve().as_uri())
    return faults.DONE


def _item(screen: Screen, run: Path, found: ItemView) -> None:
    kind = f", {found.task_type}" if found.task_type else ""
    screen.line(f"{found.name}  ({found.split}{kind}): {found.verdict}", style="bold")
    _block(screen, "question", found.question)
    for gold in found.golds[:5]:
        _block(screen, "right answer", gold)
    if not found.golds:
        screen.line("right answer: not recorded by this run")
    for title, answer in (("initial skill", found.before), ("best skill", found.after)):
        _answer(screen, run, title, answer)
    if found.attempts:
        screen.line()
        table = _table("attempt", "score", "answer")
        for each in found.attempts[-_MOST_ROWS:]:
            table.add_row(each.label, number(each.score, 2), visible(" ".join((each.text or each.reason).split()), 80))
        screen.show(table)
        if len(found.attempts) > _MOST_ROWS:
            screen.line(f"and {len(found.attempts) - _MOST_ROWS} earlier ones (--json has all)")


def _answer(screen: Screen, run: Path, title: str, answer: Answer | None) -> None:
    if answer is None:
        screen.line(f"{title}: this item was not asked with it")
        return
    _block(screen, f"{title} ({answer.label}), score {number(answer.score, 2)}", answer.text or "(no answer)")
    if answer.reason:
        screen.line(f"  why: {visible(answer.reason, 500)}")
    if (run / answer.place).is_dir():
        screen.line(f"  conversation: {run / answer.place}/conversation.json")


def _block(screen: Screen, title: str, text: str) -> None:
    lines = visible(text, _MOST_TEXT).splitlines() or [""]
    if len(lines) == 1:
        screen.line(f"{title}: {lines[0]}")
        return
    screen.line(f"{title}:")
    for line in lines:
        screen.line(f"  {line}")


def _run(screen: Screen, seen: Overview) -> None:
    screen.line(seen.headline, style="bold")
    screen.line(seen.verdict)
    if seen.stopped:
        screen.line(f"Stopped: {seen.stopped}")
    if seen.scores:
        table = _table("skill", f"sealed test ({seen.metric})", "95 % interval")
        for name, row in seen.scores:
            table.add_row(name, score_words(row, row.shown), interval(row.interval))
        screen.show(table)
    if seen.classes:
        table = _table("class", "items", "initial", "best", "won / lost")
        for row in seen.classes:
            d = row.difference
            flips = f"{d.wins} / {d.losses}" if d is not None else "–"
            table.add_row(visible(row.name, 60), str(row.items), number(row.before), number(row.after), flips)
        screen.show(table)
    before, after = seen.labels
    if after is not None:
        show_both(screen, before, after)
    _worths(screen, seen)
    for verdict in ("lost", "won"):
        names = [visible(v.name, 60) for v in seen.changed if v.verdict == verdict]
        if names:
            more = f" and {len(names) - _MOST_ROWS} more" if len(names) > _MOST_ROWS else ""
            screen.line(f"{verdict.capitalize()}: {', '.join(names[:_MOST_ROWS])}{more}")
    for text in seen.next_steps:
        screen.line(f"Next: {text}")


def _worths(screen: Screen, seen: Overview) -> None:
    if seen.worths:
        table = _table("kept change", "first line", "tokens", "points", "known from")
        for w in seen.worths:
            bounds = f" [{w.interval[0]:+.1f}, {w.interval[1]:+.1f}]" if w.interval else ""
            points = "–" if w.points is None else f"{w.points:+.1f}{bounds}"
            first = visible(w.lines[0], 50) if w.lines else ""
            table.add_row(w.label, first, str(w.tokens), points, w.measured)
        screen.show(table)
    measured = "measured" if seen.tokens.before is not None else "estimated"
    screen.line(f"The best skill adds {plural(seen.tokens.added, 'token')} to each call of the target ({measured})")


def _body(seen: Overview) -> dict[str, object]:
    """For `--json`: all but the long texts, which `show RUN ITEM --json` has."""
    long = ("diff", "matrices", "items", "spent", "text", "sides", "cost", "floor", "root")
    body = {each.name: encode(getattr(seen, each.name)) for each in fields(seen) if each.name not in long}
    return {**body, "items": [{"id": v.id, "name": v.name, "split": v.split, "verdict": v.verdict} for v in seen.items]}


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table
