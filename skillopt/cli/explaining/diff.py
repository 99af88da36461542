"""`skillopt diff`: two skills by line, with the edits behind the lines and the sizes."""

from __future__ import annotations

import json

from skillopt.api.explaining import ChangedLine, SkillDiff, diff, sizes
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.explaining.blame import gate_words, printable

_STYLES = {"+": "green", "-": "red", " ": ""}


def run_diff(a: str, b: str, *, as_json: bool) -> int:
    """`skillopt diff`."""
    screen = Screen(whole=True)
    found = diff(a, b)
    if as_json:
        screen.line(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        _show(screen, found)
    return faults.DONE


def _show(screen: Screen, found: SkillDiff) -> None:
    screen.line(f"--- {found.a.name}")
    screen.line(f"+++ {found.b.name}")
    width = max((len(_origin(line)) for hunk in found.hunks for line in hunk), default=0)
    for hunk in found.hunks:
        screen.line(f"@@ line {hunk[0].number} @@")
        for line in hunk:
            screen.line(
                f"{_origin(line):<{width}} {line.sign} {printable(line.text)}".rstrip(), style=_STYLES[line.sign]
            )
    if found.same:
        screen.line("The two are the same, byte for byte.")
    elif found.only_line_ends:
        screen.line("The words are the same; line ends differ.")
    for labels, words in _verdicts(found):
        screen.line(f"{labels}: {words}")
    before, after = sizes(found.a.skill), sizes(found.b.skill)
    parts = [f"{name} {before[name]:,} → {after[name]:,} ({after[name] - before[name]:+,})"
             for name in ("lines", "chars", "tokens")]  # fmt: skip
    screen.line(f"Size: {', '.join(parts)}; tokens are estimated from characters")


def _origin(line: ChangedLine) -> str:
    """Only changed lines are explained: what stands in both is no news."""
    return line.cause.label if line.cause is not None and line.sign != " " else ""


def _verdicts(found: SkillDiff) -> list[tuple[str, str]]:
    """The gates behind the changed lines, each once with all that it let in."""
    behind: dict[tuple[str, str], list[str]] = {}
    for cause in found.causes().values():
        if cause.gate is not None:
            behind.setdefault((cause.place, gate_words(cause.gate)), []).append(cause.label)
    return [("; ".join(labels), words) for (_, words), labels in behind.items()]
