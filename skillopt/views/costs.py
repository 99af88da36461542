"""What a run cost by role and stage: the bill where it is written, and until then what the step records say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from skillopt.records.reading import Run
from skillopt.records.rows import SpentRow
from skillopt.records.step import TokenCount
from skillopt.records.vocabulary import Stage, role_of


@dataclass(frozen=True)
class CostRow:
    """One role in one stage. None is unknown, never 0. `share` is of the tokens of the whole run, for a bar."""

    role: str
    stage: str
    models: tuple[str, ...]
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    usd: float | None
    seconds: float | None
    share: float = 0.0

    @property
    def tokens(self) -> int:
        """What is known of both."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)


@dataclass(frozen=True)
class Costs:
    """`whole` says that the bill was written: all calls, work done ahead included."""

    rows: tuple[CostRow, ...]
    whole: bool
    usd: float | None
    calls: int
    tokens: int
    seconds: float


def costs(run: Run) -> Costs:
    """The rows, the most expensive first."""
    spent = run.ledger.calls
    rows = _billed(run, spent) if spent else _counted(run)
    tokens = sum(row.tokens for row in rows)
    shown = sorted(
        (replace(row, share=row.tokens / tokens if tokens else 0.0) for row in rows),
        key=lambda row: (-row.tokens, row.stage),
    )
    usd = None if any(row.usd is None for row in rows) or not rows else sum(row.usd or 0.0 for row in rows)
    return Costs(tuple(shown), bool(spent), usd, sum(row.calls for row in rows), tokens, run.clock.total_wall_time_s)


def heading(stage: str) -> str:
    """A stage as people call it."""
    try:
        return Stage(stage).heading
    except ValueError:
        return stage


def _billed(run: Run, spent: Iterable[SpentRow]) -> list[CostRow]:
    groups: dict[tuple[str, str], list[SpentRow]] = {}
    for row in spent:
        groups.setdefault((row.role, row.stage), []).append(row)
    return [
        CostRow(
            role, heading(stage), tuple(dict.fromkeys(r.model for r in rows)), sum(r.calls for r in rows),
            _sum(r.prompt_tokens if r.prompt_tokens or not r.unknown_usage else None for r in rows),
            _sum(r.completion_tokens if r.completion_tokens or not r.unknown_usage else None for r in rows),
            None if any(r.unknown_usd for r in rows) else sum(r.usd for r in rows), _seconds(run, stage),
        )
        for (role, stage), rows in groups.items()
    ]  # fmt: skip


def _counted(run: Run) -> list[CostRow]:
    """By the step records and epoch results of a run that is not at its end."""
    groups: dict[str, list[TokenCount]] = {}
    for record in (*run.steps, *run.epoch_results):
        for stage, count in record.tokens.items():
            groups.setdefault(stage, []).append(count)
    return [
        CostRow(
            role_of(stage), heading(stage), (), sum(c.calls for c in counts), _sum(c.prompt_tokens for c in counts),
            _sum(c.completion_tokens for c in counts), None, _seconds(run, stage),
        )
        for stage, counts in groups.items()
    ]  # fmt: skip


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if any(v is None for v in known) else sum(v or 0 for v in known)


def _seconds(run: Run, stage: str) -> float | None:
    """Seconds of a stage over all steps, where the clock knows it."""
    try:
        name = f"{Stage(stage).clock}_s"
    except ValueError:
        return None
    found = [times[name] for times in run.clock.steps.values() if name in times]
    if name in run.clock.stages:
        found.append(run.clock.stages[name])
    return sum(found) if found else None
