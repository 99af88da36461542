"""Numbers and verdicts as people read them. Pure functions; unknown is shown as unknown, never as 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.gate.power import DISCORDANT

VERDICTS = {
    "accept_new_best": "✓ ACCEPT (new best)",
    "accept": "✓ ACCEPT",
    "force_accept": "FORCE-ACCEPT (gate off)",
    "reject": "✗ REJECT",
    "undecided": "UNDECIDED",
    "skip_no_patches": "SKIPPED: no usable edit was proposed",
    "skip_no_rewrite": "SKIPPED: no usable rewrite",
    "skip_no_edits": "SKIPPED: no usable edit was proposed",
    "skip_first_epoch": "SKIPPED: there is no earlier epoch",
    "inject_placeholder": "an empty region is put in",
    "no_content": "NOTHING WRITTEN",
    "write_meta_skill": "WRITTEN",
    "keep_draft": "KEPT AS A DRAFT",
    "drop_draft": "DRAFT GIVEN UP",
    "skip_no_change": "SKIPPED: no edit could be applied",
}


ACCEPTANCE = {
    "gated": "gated (guidance is kept only if it passes the gate)",
    "force-accept": "force-accept (guidance is kept whatever it scores, and measured at once)",
}
"""How the slow update's guidance becomes current, as the start of a run says it."""

EPOCH_ENDS = {
    "draft_review": "Draft review",
    "slow_update": "Slow update",
    "meta_skill": "Meta skill",
    "meta_reflect": "Meta reflect",
}
"""What happens between two epochs."""


def number(value: Any, digits: int = 4) -> str:
    """A score; None is `not measured`."""
    return "not measured" if value is None else f"{float(value):.{digits}f}"


def percent(value: float) -> str:
    """A share, 0 to 1, as a percentage."""
    return f"{100 * value:.0f} %"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * value:+.1f}"


def interval(bounds: Sequence[float] | None) -> str:
    """`[0.31, 0.55]`, or a dash when n was too small for one."""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "–"


def thousands(value: float | None) -> str:
    """A count with separators; None is `unknown`."""
    return "unknown" if value is None else f"{round(value):,}"


def usd(value: float | None) -> str:
    """Money; None is `unknown`."""
    if value is None:
        return "unknown"
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def duration(seconds: float | None) -> str:
    """Seconds, minutes or hours; None is `unknown`."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def scored(row: Mapping[str, Any] | None) -> str:
    """`0.6200 on 38 of 40`, from a `{hard, n, total}` mapping."""
    if not row or row.get("hard") is None:
        return "not measured"
    text = number(row["hard"])
    n = row.get("n", row.get("scored"))
    if n is None:
        return text
    return f"{text} on {n}" + (f" of {row['total']}" if row.get("total") not in (None, n) else "")


def verdict(action: str) -> str:
    """An action of the step record in capitals."""
    return VERDICTS.get(action, action.upper().replace("_", " "))


def plural(count: int, word: str) -> str:
    """`1 edit`, `2 edits`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def detects(gain: float) -> str:
    """What a split can show: its smallest detectable gain (0 to 1), with the assumptions that the figure rests on."""
    if gain >= 1:
        return "detects no gain at all"
    return (
        f"detects gains of {100 * gain:.0f} points or more (80 % power, 5 % two-sided test, if {percent(DISCORDANT)} "
        "of the items change)"
    )
