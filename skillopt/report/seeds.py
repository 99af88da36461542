"""`report.md` of several seeds: the joint verdict, a row a run, and what each number claims. A pure function of the
joint summary, without clock and price."""

from __future__ import annotations

from skillopt.records.beside.seeds import SeedRow, SeedsSummary
from skillopt.report.sealed_test import bounds_of, score_of, signed, table


def render_seeds(summary: SeedsSummary) -> str:
    """The report as Markdown."""
    parts = [
        f"# {len(summary.rows)} runs of one configuration",
        summary.verdict,
        _runs(summary),
        _configuration(summary),
        _product(summary),
        _readings(summary),
        "\n".join(f"- {text}" for text in summary.notices),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _runs(summary: SeedsSummary) -> str:
    head = ["seed", "sealed test", "gain", "95 % interval", "won / lost", "proof (p)", "jointly", "test reading"]
    rows = [_row(row) for row in summary.rows]
    lines = [f"Initial skill on the sealed test: {score_of(summary.baseline.shown)} (asked once for all runs)."]
    stopped = [f"- seed {row.seed}: stopped, {row.stopped}" for row in summary.rows if row.stopped]
    return "\n\n".join(["## Runs", *lines, table(head, rows), *(["\n".join(stopped)] if stopped else [])])


def _row(row: SeedRow) -> list[str]:
    found = row.difference
    return [
        str(row.seed),
        score_of(row.test.shown),
        signed(found.delta) if found else "not measured",
        bounds_of(found.interval) if found else "–",
        f"{found.wins} / {found.losses}" if found else "–",
        f"{row.p:.2g}" if row.p is not None else "none",
        "yes" if row.proven_jointly else "no",
        str(row.reading) if row.reading else "–",
    ]


def _configuration(summary: SeedsSummary) -> str:
    mean = summary.mean
    if mean is None:
        return ""
    tested = sum(row.difference is not None for row in summary.rows)
    p = f"{summary.gained_p:.2g}" if summary.gained_p is not None else "unknown"
    spread = f", standard deviation {summary.spread:.4f}" if summary.spread is not None else ""
    return "\n\n".join(
        [
            "## The configuration",
            f"Mean gain ({summary.metric}) of {tested} runs: {signed(mean.delta)}, 95 % interval "
            f"{bounds_of(mean.interval)} over {mean.n} items; worst {signed(summary.worst)}, best "
            f"{signed(summary.best)}{spread}.",
            "The interval is over items: it holds for new items and the average of these runs' skills, whatever the "
            "runs have in common. A run that kept its initial skill counts with a gain of zero.",
            f"Of a further run it says nothing by itself. {summary.gained} of {tested} runs gained; that a run of this "
            f"configuration gains more often than it loses has p = {p} (sign test over runs).",
        ]
    )


def _product(summary: SeedsSummary) -> str:
    chosen = next((row for row in summary.rows if row.seed == summary.chosen), None)
    head = "## The skill to use"
    if chosen is None:
        words = "`best_skill.md` is the initial skill."
        single = [str(row.seed) for row in summary.rows if row.proven]
        if single:
            words += (
                f" Proven at their own level, but not jointly: seed {', '.join(single)} (their skills lie in their own "
                "directories)."
            )
        return f"{head}\n\n{words}"
    how = (
        "among the runs whose proof holds jointly" if summary.alpha is not None else "among all runs; that is no proof"
    )
    found = chosen.difference
    gain = f" Its sealed test: {signed(found.delta)} {bounds_of(found.interval)}." if found else ""
    return (
        f"{head}\n\n`best_skill.md` is that of seed {chosen.seed}, chosen by its selection score {how}.{gain} The "
        "sealed test had no part in the choice, so this gain is not flattered by it; the best of all gains would be."
    )


def _readings(summary: SeedsSummary) -> str:
    if not summary.readings:
        return ""
    return (
        f"## Readings of the sealed test\n\n{summary.readings} in all, numbered in the table. Each run's own verdict "
        "holds for that run; of several readings the most favourable one is no result."
    )
