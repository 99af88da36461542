"""What each change is worth, as bars with their intervals: by ablation, or by the lines of a factorial search."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.records.codec import decode
from skillopt.records.factorial import EffectRecord
from skillopt.records.reading import Run


@dataclass(frozen=True)
class Bar:
    """One change: its effect in percentage points with the 95 % interval; `words` say what that means."""

    label: str
    text: str
    points: float
    interval: tuple[float, float] | None
    words: str


@dataclass(frozen=True)
class Effects:
    """The bars, the largest first. `source` says how they were measured; `unmeasured` are changes without a figure."""

    source: str
    bars: tuple[Bar, ...]
    unmeasured: tuple[str, ...] = ()


_WORDS = {
    "pays": "it pays", "harms": "it harms", "not shown": "not shown to do anything",
    "not measured": "too few items for an interval",
}  # fmt: skip


def effects(run: Run) -> Effects | None:
    """None where nothing was measured: `skillopt ablate` does that."""
    return _ablated(run) or _factorial(run)


def _ablated(run: Run) -> Effects | None:
    found = run.ablation
    if found is None or not found.edits:
        return None
    bars = [
        Bar(
            edit.label, "\n".join(edit.lines), 100 * edit.effect.worth,
            None if edit.effect.interval is None else (100 * edit.effect.interval[0], 100 * edit.effect.interval[1]),
            f"{_WORDS.get(edit.effect.verdict, edit.effect.verdict)} (n = {edit.effect.n})",
        )
        for edit in found.edits
        if edit.effect.worth is not None
    ]  # fmt: skip
    return Effects(
        f"ablation on the {found.split} items: the skill minus the skill without the change", _sorted(bars),
        tuple(edit.label for edit in found.edits if edit.effect.worth is None),
    )  # fmt: skip


def _factorial(run: Run) -> Effects | None:
    rows = [decode(EffectRecord, row, "effects.json") for row in run.rows("effects.json")]
    bars = [
        Bar(
            f"line {row.line}" + (" (kept)" if row.kept else ""),
            str(row.edit.get("content") or f"without: {row.edit.get('target')}"), 100 * row.effect,
            None if row.interval is None else (100 * row.interval[0], 100 * row.interval[1]),
            f"better than nothing with probability {row.p_positive:.2f} ({row.rollouts} rollouts)"
            if row.p_positive is not None else f"{row.rollouts} rollouts",
        )
        for row in rows
        if row.effect is not None
    ]  # fmt: skip
    if not rows:
        return None
    return Effects(
        "factorial search on training items: each line with all the others varied", _sorted(bars),
        tuple(f"line {row.line}" for row in rows if row.effect is None),
    )  # fmt: skip


def _sorted(bars: list[Bar]) -> tuple[Bar, ...]:
    return tuple(sorted(bars, key=lambda bar: (-bar.points, bar.label)))
