"""What the screen shows before and after a run: the plan, the result, the tables. Reads numbers, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.table import Table

from skillopt.api.runs.training import BatchOffer, Plan, Range
from skillopt.api.shown.concluding import conclusion
from skillopt.api.shown.power import seen, shows
from skillopt.cli.console import Screen
from skillopt.cli.label_tables import show_labels
from skillopt.cli.wording import duration, interval, number, percent, plural, rough, score_words, thousands, usd
from skillopt.records.beside.evaluation import EvalSummary
from skillopt.records.reading import BEST_SKILL, Run
from skillopt.records.schema import Clock, Ledger, SpentRow


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for n, column in enumerate(columns):
        table.add_column(column, justify="left" if n < 2 else "right", no_wrap=n >= 2)
    return table


def _span(span: Range) -> str:
    return _likely_first(span, thousands, rough(span.likely))


def _money(span: Range | None) -> str:
    return "unknown" if span is None else _likely_first(span, usd, usd(span.likely))


def _time(span: Range) -> str:
    return _likely_first(span, duration, duration(span.likely))


def _likely_first(span: Range, words: Callable[[float], str], likely: str) -> str:
    """`about 260 (103–426)`: what to expect, then the bounds."""
    low, high = words(span.low), words(span.high)
    return low if low == high else f"about {likely} ({low}–{high})"


def _likely(span: Range | None) -> str:
    return "unknown" if span is None else usd(span.likely)


def show_plan(screen: Screen, plan: Plan) -> None:
    """Calls, tokens, money and time, the likely value first and the bounds behind it, and what the splits can show."""
    sizes = plan.sizes
    screen.line(
        f"Plan: {plural(plan.total_steps, 'step')}, {plan.steps_per_epoch} an epoch; items: {sizes.train} train, "
        f"{sizes.selection} selection, {sizes.test} test"
    )
    if plan.seeds > 1:
        screen.line(f"{plan.seeds} runs side by side; calls, tokens, money and time are of all of them")
    table = _table("role", "stage", "calls", "prompt tokens", "completion tokens", "money")
    for s in plan.stages:
        calls = _span(s.calls).removeprefix("about ")
        table.add_row(
            s.role, s.label, calls, rough(s.prompt_tokens.likely), rough(s.completion_tokens.likely), _likely(s.usd)
        )
    screen.show(table)
    basis = "earlier calls of this run" if any(s.observed for s in plan.stages) else "the first items' prompts"
    screen.line(
        f"In all: {_span(plan.calls)} calls, {_span(plan.tokens)} tokens, money {_money(plan.usd)}, "
        f"time {_time(plan.seconds)} (from {basis}; without retries)"
    )
    for text in plan.pools:
        screen.line(f"{text[0].upper()}{text[1:]}")
    if plan.batches is not None:
        screen.line(_both_prices(plan.batches))
    screen.line(f"The sealed test ({plural(sizes.test, 'item')}) {shows(plan.test_gain)}")
    screen.line(f"On {plural(sizes.selection, 'selection item')} {seen(plan.selection_gain)}")
    for text in plan.gate_notes:
        screen.line(f"{text[0].upper()}{text[1:]}")
    for text in plan.warnings:
        screen.line(f"warning: {text}")


def _both_prices(offer: BatchOffer) -> str:
    """With and without batches, and which of them it will be."""
    live, batched = _money(offer.live), _money(offer.batched)
    waits = f"{plural(offer.waits, 'set')} one after the other, up to {offer.hours:g} h each"
    if offer.used:
        return f"In batches: money {batched}, {waits}; call by call (model.batch: never): {live}"
    return f"Call by call: money {live}; whole sets in batches (model.batch: sets): {batched}, {waits}"


def show_result(screen: Screen, run: Run) -> None:
    """The sealed test, what was kept, and why nothing was when nothing was. `run` has ended."""
    found = conclusion(run)
    summary = found.summary
    screen.line()
    if not found.measured:
        screen.line("Nothing was measured: the run ended before its initial skill had a score", style="bold")
        return
    table = _table("skill", f"sealed test ({summary.test.metric})", "95 % interval")
    for name, row in (("initial", summary.baseline_test), ("best", summary.test)):
        table.add_row(name, score_words(row, row.shown), interval(row.interval))
    screen.show(table)
    paired = summary.paired
    if paired is not None and not summary.unchanged:
        screen.line(
            f"Paired on {paired.n} items: {paired.wins} won, {paired.losses} lost, difference "
            f"{paired.delta:+.4f} {interval(paired.interval)}"
        )
    screen.line(f"Candidates: {found.candidates} in {plural(summary.total_steps, 'step')}")
    screen.line(
        f"Selection score: {number(summary.baseline_selection.shown)} → "
        f"{number(summary.best_selection.shown)} (best, step {summary.best_step})"
    )
    screen.line(summary.verdict, style="bold")
    if found.why_nothing:
        screen.line(f"Why nothing was kept: {found.why_nothing}")
    for text in found.alarms:
        screen.line(f"warning: {text}")
    screen.line(f"Best skill: {run.root / BEST_SKILL}")


def show_bill(screen: Screen, ledger: Ledger, clock: Clock, plan: Plan) -> None:
    """What was spent, by role, beside what the plan said."""
    calls = ledger.calls
    for role, model in sorted({(row.role, row.model) for row in calls}):
        rows = [row for row in calls if (row.role, row.model) == (role, model)]
        screen.line(f"{role.capitalize() or 'Calls'} ({model}): {_spent(rows)}")
    screen.line(
        f"Forecast and actual: calls {_span(plan.calls)} / {sum(row.calls for row in calls):,}, "
        f"tokens {_span(plan.tokens)} / {_tokens(calls)}, money {_money(plan.usd)} / {usd(_usd(calls))}, "
        f"time {_time(plan.seconds)} / {duration(clock.total_wall_time_s)}"
    )


def _usd(rows: Sequence[SpentRow]) -> float | None:
    return None if any(row.unknown_usd for row in rows) else sum(row.usd for row in rows)


def _tokens(rows: Sequence[SpentRow]) -> str:
    known = sum(row.prompt_tokens + row.completion_tokens for row in rows)
    unknown = sum(row.unknown_usage for row in rows)
    if not unknown:
        return thousands(known)
    return f"{thousands(known)} and {plural(unknown, 'call')} of unknown usage" if known else "unknown"


def _spent(rows: Sequence[SpentRow]) -> str:
    calls, cached = sum(row.calls for row in rows), sum(row.cached_tokens for row in rows)
    note = f" ({thousands(cached)} cached)" if cached else ""
    tokens = _tokens(rows)
    used = "usage unknown" if tokens == "unknown" else f"{tokens} tokens"
    return f"{plural(calls, 'call')}, {used}{note}, {usd(_usd(rows))}"


def show_eval(screen: Screen, summary: EvalSummary) -> None:
    """A row per split and per task type, each with its n and interval; never one mixed score."""
    metric = next((row.metric for row in summary.splits.values()), "hard")
    other = "soft" if metric == "hard" else "hard"
    table = _table("split", "task type", metric, "95 % interval", other, "items", "coverage")
    for name, row in summary.splits.items():
        table.add_row(
            name,
            "all",
            number(row.shown),
            interval(row.interval),
            number(row.soft if metric == "hard" else row.hard),
            f"{row.n} of {row.total}",
            percent(row.coverage),
        )
        for kind, part in row.by_task_type.items():
            if kind != "overall":
                table.add_row("", kind, number(part.shown), "", "", str(part.total), "")
    screen.show(table)
    for name, row in summary.splits.items():
        if row.labels is not None:
            show_labels(screen, name, row.labels)


def show_eval_bill(screen: Screen, summary: EvalSummary, seconds: float) -> None:
    """What this evaluation's answers took, whatever else its directory holds."""
    stages = summary.tokens.values()
    calls = sum(row.calls for row in stages)
    counts = [count for row in stages for count in (row.prompt_tokens, row.completion_tokens)]
    known = [count for count in counts if count is not None]
    used = f"{thousands(sum(known))} tokens" if len(known) == len(counts) else "usage unknown"
    screen.line(f"Cost: {plural(calls, 'call')}, {used}, {usd(summary.cost)}, {duration(seconds)}")
