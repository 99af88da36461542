"""The sealed test in the report: scores with n and interval, what was won and lost, and by task type.

Pure functions of the summary. Unknown is written as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.records.schema import Difference, ScoreSummary, Summary, TypeScore

SHOWN_ITEMS = 12
"""Items named in a list; the rest is counted."""


def score_of(value: float | None) -> str:
    """A score to four digits."""
    return "not measured" if value is None else f"{value:.4f}"


def bounds_of(bounds: tuple[float, float] | None) -> str:
    """An interval, or a dash."""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "–"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "unknown" if value is None else f"{value:+.4f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def sealed_test(summary: Summary, names: Mapping[str, str] | None = None) -> str:
    """The section of the sealed test; `names` are readable ones by item id."""
    tests = (("initial", summary.baseline_test), ("best", summary.test), ("final", summary.final_test))
    if not any(score.total for _, score in tests):
        return "## Sealed test\n\nNot measured" + (f": {summary.test.reason}." if summary.test.reason else ".")
    rows = [[name, *_score_cells(score)] for name, score in tests]
    metric = summary.test.metric
    head = ["skill", metric, "95 % interval", "soft" if metric == "hard" else "hard", "items", "lost to faults"]
    return "\n\n".join(["## Sealed test", table(head, rows), *_paired(summary, names or {}), _seed(summary)])


def _score_cells(score: ScoreSummary) -> list[str]:
    scope = f"{score.n} of {score.total}"
    other = score.soft if score.metric == "hard" else score.hard
    return [score_of(score.shown), bounds_of(score.interval), score_of(other), scope, str(score.total - score.n)]


def _paired(summary: Summary, readable: Mapping[str, str]) -> list[str]:
    paired = summary.paired
    if paired is None or not paired.n:
        return []
    test = "two-sided sign test p" if paired.metric == "hard" else "two-sided p"
    p = f", {test} = {paired.p:.3g}" if paired.p is not None else ""
    lines = [
        f"Best against initial, paired on {paired.n} items: {paired.wins} won, {paired.losses} lost, "
        f"difference {signed(paired.delta)} with 95 % interval {bounds_of(paired.interval)}{p}."
    ]
    for word, names in (("Won", paired.won), ("Lost", paired.lost)):
        if names:
            more = f" and {len(names) - SHOWN_ITEMS} more" if len(names) > SHOWN_ITEMS else ""
            lines.append(f"{word}: {', '.join(f'`{readable.get(name, name)}`' for name in names[:SHOWN_ITEMS])}{more}.")
    return ["\n\n".join(lines)]


def _seed(summary: Summary) -> str:
    seed = summary.seed
    return "One run" + (f" with seed {seed}" if seed is not None else "") + ": another seed is another run."


def task_types(summary: Summary) -> str:
    """The metric's mean by task type, with what was won and lost; left out where the items are of one kind."""
    by_skill = summary.test_by_task_type
    names = (("initial", "test_eval_baseline"), ("best", "test_eval"), ("final", "test_eval_final"))
    shown = [(name, by_skill[key]) for name, key in names if key in by_skill]
    kinds = sorted({kind for _, rows in shown for kind in rows if kind != "overall"})
    if len(kinds) < 2:
        return ""
    differences: Mapping[str, Difference] = summary.paired.by_type if summary.paired is not None else {}
    rows: list[list[str]] = []
    for kind in kinds:
        cells = [cells.get(kind, TypeScore()) for _, cells in shown]
        found = differences.get(kind)
        change = (
            [f"{found.wins} / {found.losses}", f"{signed(found.delta)} {bounds_of(found.interval)}"]
            if found is not None
            else ["–", "–"]
        )
        rows.append([kind, str(max(c.total for c in cells)), *(score_of(c.shown) for c in cells), *change])
    head = ["type", "items", *(name for name, _ in shown), "won / lost", "best − initial, 95 % interval"]
    return "## By task type\n\n" + table(head, rows)
