"""What the screen shows before and after a run: the plan, the result, the tables. Reads numbers, decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from skillopt.cli.console import Screen
from skillopt.cli.wording import detects, duration, interval, number, percent, plural, scored, thousands, usd
from skillopt.forecast.plan import Plan
from skillopt.forecast.workload import Range
from skillopt.report.report import alarms, why_nothing

Record = Mapping[str, Any]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for n, column in enumerate(columns):
        table.add_column(column, justify="left" if n < 2 else "right", no_wrap=n >= 2)
    return table


def _span(span: Range) -> str:
    low, high = thousands(span.low), thousands(span.high)
    return low if low == high else f"{low}–{high}"


def _money(span: Range | None) -> str:
    if span is None:
        return "unknown"
    low, high = usd(span.low), usd(span.high)
    return low if low == high else f"{low}–{high}"


def _time(span: Range) -> str:
    low, high = duration(span.low), duration(span.high)
    return low if low == high else f"{low} to {high}"


def show_plan(screen: Screen, plan: Plan) -> None:
    """Calls, tokens, money and time as ranges, and what the splits can show."""
    sizes = plan.sizes
    screen.line(
        f"Plan: {plural(plan.total_steps, 'step')}, {plan.steps_per_epoch} an epoch; items: {sizes.train} train, "
        f"{sizes.selection} selection, {sizes.test} test"
    )
    table = _table("role", "stage", "calls", "prompt tokens", "completion tokens", "money")
    for s in plan.stages:
        table.add_row(
            s.role, s.stage, _span(s.calls), _span(s.prompt_tokens), _span(s.completion_tokens), _money(s.usd)
        )
    screen.show(table)
    basis = "earlier calls of this run" if any(s.observed for s in plan.stages) else "the first items' prompts"
    screen.line(
        f"In all: {_span(plan.calls)} calls, {_span(plan.tokens)} tokens, money {_money(plan.usd)}, "
        f"time {_time(plan.seconds)} (from {basis}; without retries)"
    )
    for name, size, gain in (
        ("selection", sizes.selection, plan.selection_gain),
        ("test", sizes.test, plan.test_gain),
    ):
        screen.line(f"The {name} split ({plural(size, 'item')}) {detects(gain)}")
    for text in plan.gate_notes:
        screen.line(f"{text[0].upper()}{text[1:]}")
    for text in plan.warnings:
        screen.line(f"warning: {text}")


def show_result(screen: Screen, summary: Record, history: Sequence[Record], best_path: str) -> None:
    """The sealed test, what was kept, and why nothing was when nothing was."""
    screen.line()
    table = _table("skill", "sealed test (hard)", "95 % interval")
    for name, key in (("initial", "baseline_test"), ("best", "test")):
        row: Record = summary.get(key) or {}
        table.add_row(name, scored(row), interval(row.get("interval")))
    screen.show(table)
    paired: Record = summary.get("paired") or {}
    if paired and summary.get("initial_skill_hash") != summary.get("best_skill_hash"):
        screen.line(
            f"Paired on {paired['n']} items: {paired['wins']} won, {paired['losses']} lost, difference "
            f"{paired['delta']:+.4f} {interval(paired['interval'])}"
        )
    counts = [f"{summary.get(f'total_{name}', 0)} {word}" for name, word in _COUNTS]
    screen.line(f"Candidates: {', '.join(counts)} in {plural(int(summary.get('total_steps') or 0), 'step')}")
    screen.line(
        f"Selection score: {number(summary.get('baseline_selection_hard'))} → "
        f"{number(summary.get('best_selection_hard'))} (best, step {summary.get('best_step')})"
    )
    screen.line(str(summary.get("verdict") or ""), style="bold")
    nothing = why_nothing(summary, history)
    if nothing:
        screen.line(f"Why nothing was kept: {nothing}")
    for text in alarms(summary, history):
        screen.line(f"warning: {text}")
    screen.line(f"Best skill: {best_path}")


_COUNTS = (("accepts", "accepted"), ("rejects", "rejected"), ("undecided", "undecided"), ("skips", "skipped"))


def show_bill(screen: Screen, ledger: Sequence[Record], seconds: float | None, plan: Plan) -> None:
    """What was spent, by role, beside what the plan said."""
    roles = sorted({(str(r["role"]), str(r["model"])) for r in ledger})
    for role, model in roles:
        rows = [r for r in ledger if (r["role"], r["model"]) == (role, model)]
        screen.line(f"{role.capitalize() or 'Calls'} ({model}): {_spent(rows)}")
    calls = sum(int(r["calls"]) for r in ledger)
    screen.line(
        f"Forecast and actual: calls {_span(plan.calls)} / {calls:,}, tokens {_span(plan.tokens)} / {_tokens(ledger)}, "
        f"money {_money(plan.usd)} / {usd(_usd(ledger))}, time {_time(plan.seconds)} / {duration(seconds)}"
    )


def _usd(rows: Sequence[Record]) -> float | None:
    return None if any(r["unknown_usd"] for r in rows) else sum(float(r["usd"]) for r in rows)


def _tokens(rows: Sequence[Record]) -> str:
    known = sum(int(r["prompt_tokens"]) + int(r["completion_tokens"]) for r in rows)
    unknown = sum(int(r["unknown_usage"]) for r in rows)
    if not unknown:
        return thousands(known)
    return f"{thousands(known)} and {plural(unknown, 'call')} of unknown usage" if known else "unknown"


def _spent(rows: Sequence[Record]) -> str:
    calls = sum(int(r["calls"]) for r in rows)
    cached = sum(int(r["cached_tokens"]) for r in rows)
    note = f" ({thousands(cached)} cached)" if cached else ""
    tokens = _tokens(rows)
    used = "usage unknown" if tokens == "unknown" else f"{tokens} tokens"
    return f"{plural(calls, 'call')}, {used}{note}, {usd(_usd(rows))}"


def show_eval(screen: Screen, summary: Record) -> None:
    """A row per split and per task type, each with its n and interval; never one mixed score."""
    table = _table("split", "task type", "hard", "95 % interval", "soft", "items", "coverage")
    for name, row in summary["splits"].items():
        table.add_row(
            name,
            "all",
            number(row["hard"]),
            interval(row["interval"]),
            number(row["soft"]),
            f"{row['n']} of {row['total']}",
            percent(row["coverage"]),
        )
        for kind, part in row["by_task_type"].items():
            if kind != "overall":
                table.add_row("", kind, number(part["hard_acc"]), "", "", str(part["total"]), "")
    screen.show(table)


def show_eval_bill(screen: Screen, summary: Record, seconds: float) -> None:
    """What this evaluation's answers took, whatever else its directory holds."""
    stages: list[Record] = list(summary["tokens"].values())
    calls = sum(int(row["calls"]) for row in stages)
    counts: list[int | None] = [row[name] for row in stages for name in ("prompt_tokens", "completion_tokens")]
    known = [count for count in counts if count is not None]
    used = f"{thousands(sum(known))} tokens" if len(known) == len(counts) else "usage unknown"
    screen.line(f"Cost: {plural(calls, 'call')}, {used}, {usd(summary['cost'])}, {duration(seconds)}")
