"""What several runs side by side ask once: the initial skill on the selection split, and at the end on the sealed test.

The answers go into the parent's journal; each run finds them there by their keys and pays nothing. What the caps leave
after them is cut into equal shares, fixed in that journal, so that runs stay comparable and a share is the same when
they are started again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.config import BudgetSection
from skillopt.core.hashing import digest
from skillopt.core.outcome import compute_score
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import item_cost, largest_call, remember_time, write_logs
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.test_reserve import MARGIN
from skillopt.records.vocabulary import Stage

_SHARES = "shares"
"""The journal's fact about the runs' budgets."""


class AskedOnce:
    """`context` is the parent's: its own journal, ledger and events."""

    def __init__(self, context: RunContext, initial: Skill) -> None:
        self._context, self._initial = context, initial
        self._baseline: list[Rollout] = []
        self._lock, self._tested = asyncio.Lock(), False

    async def baseline(self) -> None:
        """The initial skill on the selection split. Raises `StopRun`."""
        context, repeats = self._context, self._context.config.evaluation.repeats
        with staged(context, Stage.BASELINE, total=len(context.selection) * repeats) as told:
            self._baseline = await measure(
                context, self._initial, context.selection, stage=Stage.BASELINE, repeats=repeats
            )
            told.measured(compute_score(r.outcome for r in self._baseline))
        remember_time(context)

    async def test(self) -> None:
        """The initial skill on the sealed test, once, when the first run has come to its end. Raises `StopRun`."""
        context = self._context
        async with self._lock:
            if not self._tested:
                context.budget.grace_h = math.inf  # the runs' own clocks say when it is too late
                with staged(context, Stage.TEST, total=len(context.test)):
                    await measure(context, self._initial, context.test, stage=Stage.TEST)
                self._tested = True

    def finish(self) -> None:
        """Write the bill of what was asked here."""
        write_logs(self._context)

    def shares(self, seeds: Sequence[int]) -> dict[int, BudgetSection]:
        """The budget of each run: an equal part of what the caps leave. A share that was given never shrinks."""
        caps, journal = self._context.config.budget, self._context.journal
        limits = {"calls": caps.max_calls, "tokens": caps.max_tokens, "usd": caps.max_usd}
        under = digest([caps.max_calls, caps.max_tokens, caps.max_usd])[:16]
        known: dict[str, Any] = journal.get_meta(_SHARES) or {}
        earlier: dict[str, dict[str, float]] = known.get("of", {})
        same = known.get("under") == under
        once, shares = self._once(), {seed: dict[str, float]() for seed in seeds}
        for kind, cap in limits.items():
            if cap is None:
                continue
            old = [earlier.get(str(seed), {}).get(kind) for seed in seeds]
            kept = [value for value in old if same and value is not None]
            open_ = [seed for seed, value in zip(seeds, old, strict=True) if not same or value is None]
            least = [value or 0.0 for value in old if not same or value is None]
            parts = dict(zip(open_, cut(cap - getattr(once, kind) - sum(kept), least), strict=True))
            for seed, value in zip(seeds, old, strict=True):
                shares[seed][kind] = parts.get(seed, value or 0.0)
        journal.set_meta(_SHARES, {"under": under, "of": {str(seed): share for seed, share in shares.items()}})
        return {seed: self._section(share) for seed, share in shares.items()}

    def _once(self) -> Spend:
        """What is asked once: what was spent here so far, and what the initial skill's sealed test will need."""
        context = self._context
        if self._tested or not context.config.evaluation.eval_test:
            return context.budget.used
        n, each = len(context.test), item_cost(context, self._baseline)
        largest = largest_call(context, self._baseline)
        test = Spend(n, MARGIN * n * each.tokens + largest.tokens, MARGIN * n * each.usd + largest.usd)
        return context.budget.used.plus(test)

    def _section(self, share: Mapping[str, float]) -> BudgetSection:
        caps = self._context.config.budget
        update: dict[str, float | None] = {
            "max_calls": None if caps.max_calls is None else math.floor(share["calls"]),
            "max_tokens": None if caps.max_tokens is None else math.floor(share["tokens"]),
            "max_usd": None if caps.max_usd is None else share["usd"],
        }
        return caps.model_copy(update=update)


def cut(amount: float, least: Sequence[float]) -> list[float]:
    """An amount in equal parts, none of which is below its least.

    >>> cut(12, [0, 6, 0])
    [3.0, 6.0, 3.0]
    """
    level, raised = 0.0, [False] * len(least)
    while not all(raised):
        level = max(0.0, amount - sum(low for low, up in zip(least, raised, strict=True) if up)) / raised.count(False)
        above = [up or low > level for low, up in zip(least, raised, strict=True)]
        if above == raised:
            break
        raised = above
    return [float(low) if up else level for low, up in zip(least, raised, strict=True)]
