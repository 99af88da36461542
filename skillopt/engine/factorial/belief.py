"""What is believed of each line, in words for the optimizer and in rows for records.

An effect is what the line does to the mean score, with the interval that holds it with probability .95.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonValue
from skillopt.core.rollout import Rollout
from skillopt.optimizer.factorial.model import Effect
from skillopt.optimizer.factorial.pool import Factor, Subset
from skillopt.optimizer.factorial.search import Search

_CHARS = 300
_MOST_LINES = 60


def effect_rows(search: Search, kept: Subset) -> list[dict[str, JsonValue]]:
    """One row a factor, in the order of their birth: the edit, how often it was proposed and tried, its effect."""
    effects = search.effects()
    return [_row(factor, effects[factor.number], search, kept) for factor in search.pool.factors]


def _row(factor: Factor, effect: Effect | None, search: Search, kept: Subset) -> dict[str, JsonValue]:
    return {
        "line": factor.number + 1,
        "edit": factor.edit.to_json(),
        "born": factor.born,
        "family": factor.family + 1,
        "support": factor.support,
        "rollouts": search.tried(factor.number),
        "effect": round(effect.mean, 6) if effect else None,
        "interval": [round(effect.low, 6), round(effect.high, 6)] if effect else None,
        "p_positive": round(effect.positive, 6) if effect else None,
        "kept": factor.number in kept,
        "retired": factor.retired,
    }


def described(search: Search, kept: Subset) -> str:
    """The lines under test as the optimizer reads them: those that are in the shown skill, then the clearest ones."""
    effects = search.effects()
    factors = sorted(search.pool.factors, key=lambda f: (f.number not in kept, f.retired, -f.number))[:_MOST_LINES]
    rows = [_sentence(f, effects[f.number], f.number in kept) for f in sorted(factors, key=lambda f: f.number)]
    return "\n".join(rows)


def _sentence(factor: Factor, effect: Effect | None, inside: bool) -> str:
    if effect is None:
        known = "not tried yet"
    else:
        points = f"{100 * effect.mean:+.1f} points, {100 * effect.low:+.1f} to {100 * effect.high:+.1f}"
        known = f"given up: {points}" if factor.retired else f"{'in the skill' if inside else 'not in it'}: {points}"
    return f"[{factor.number + 1}] {said(factor.edit)} ({known})"


_KNOWN = re.compile(
    r"\s*\((?:not tried yet|(?:given up|in the skill|not in it): [+-][\d.]+ points, [+-][\d.]+ to [+-][\d.]+)\)\s*$"
)


def without_belief(edit: Edit) -> Edit:
    """An edit as proposed, without what the list of lines says of one: small optimizers copy it along.

    >>> without_belief(Edit("append", content="- Add one. (not in it: -3.6 points, -11.2 to +4.0)")).content
    '- Add one.'
    """
    content = _KNOWN.sub("", edit.content or "")
    return edit if content == (edit.content or "") else replace(edit, content=content)


def said(edit: Edit) -> str:
    """An edit in one line."""
    content, target = (" ".join((text or "").split())[:_CHARS] for text in (edit.content, edit.target))
    return {
        "append": f"add: {content}",
        "insert_after": f"add: {content}",
        "replace": f"replace {target!r} by: {content}",
        "delete": f"delete: {target}",
    }.get(edit.op, edit.op)


def differences(failures: Sequence[Rollout], subsets: Sequence[Subset], believed: Subset) -> str:
    """For each failed attempt which lines it had besides the believed skill, and which it lacked; blank where none."""
    rows: list[str] = []
    for n, (rollout, subset) in enumerate(zip(failures, subsets, strict=True), start=1):
        more, less = sorted(subset - believed), sorted(believed - subset)
        if more or less:
            parts = [f"{word} {', '.join(f'[{k + 1}]' for k in lines)}"
                     for word, lines in (("also had", more), ("did not have", less)) if lines]  # fmt: skip
            rows.append(f"- Trajectory {n} ({rollout.item.id}) {' and '.join(parts)}")
    return "\n".join(rows)
