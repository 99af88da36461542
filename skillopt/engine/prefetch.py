"""Working ahead: what the next step needs if the candidate at the gate is rejected, done while the gate decides.

Most candidates are rejected, and then the next step's skill and step buffer are known before the verdict. So its
rollouts start as soon as this step's are done, and its reflection follows while the gate runs, both behind everything a
decision waits for. Results go to the journal only; the next step asks the same questions and finds the answers there. A
fault here decides nothing: the step that needs the call meets it again. Calls are wasted when a candidate is accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from skillopt.core.aio import stop
from skillopt.core.errors import ModelError, StopRun
from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.measure import PREFETCH, measure
from skillopt.engine.run.context import RunContext
from skillopt.records.vocabulary import Stage


class Prefetcher:
    """Owns the speculative tasks of a run. Does nothing where speculation is off."""

    def __init__(self, context: RunContext) -> None:
        self._context = context.quiet()
        self._rollouts: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def rollouts(self, plan: StepPlan | None, skill: Skill | None) -> None:
        """Begin the rollouts of a step with the skill it will have; None for either when that is not known."""
        if self._context.speculate and plan is not None and skill is not None:
            self._rollouts = self._begin(lambda: self._roll_out(plan, skill))
        else:
            self._rollouts = None

    def reflect_next(self, think: Callable[[RunContext], Awaitable[None]]) -> None:
        """Once those rollouts are there, run `think` on a context that nobody watches."""
        before = self._rollouts
        if before is not None:

            async def then() -> None:
                await asyncio.wait({before})
                await think(self._context)

            self._begin(then)

    async def cancel(self) -> None:
        """Stop what is under way and wait until it has stopped."""
        tasks, self._tasks, self._rollouts = self._tasks, [], None
        await stop(tasks)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        async def contained() -> None:
            with suppress(StopRun, ModelError):
                await work()

        self._tasks = [t for t in self._tasks if not t.done()]
        task = asyncio.ensure_future(contained())
        self._tasks.append(task)
        return task

    async def _roll_out(self, plan: StepPlan, skill: Skill) -> None:
        items = [item for batch in plan.batches for item in batch.items]
        await measure(self._context, skill, items, stage=Stage.ROLLOUT, step=plan.step, priority=PREFETCH)
