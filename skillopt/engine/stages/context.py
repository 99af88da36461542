"""What every stage of a step receives: the run, the plan, the skill in force, and what prompts may show."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.core.skill import Skill
from skillopt.engine.batches import StepPlan
from skillopt.engine.run.context import RunContext
from skillopt.optimizer.context import StageContext, Tally


@dataclass(frozen=True)
class StepContext:
    """Handed from stage to stage. Only the run has effects; calls are counted in the tally of `optimizer`."""

    run: RunContext
    plan: StepPlan
    skill: Skill
    """The skill that the step works on."""
    optimizer: StageContext
    """What the optimizer's calls of this step receive."""
    budget: int | None = None
    """Edits that the schedule allows; None for no limit. An autonomous decision may replace it."""
    buffer_text: str = ""
    """What the earlier steps of the epoch tried, as prompts show it."""

    @property
    def tally(self) -> Tally:
        """Counts every call that the step rests on."""
        return self.optimizer.tally

    @property
    def step(self) -> int:
        """Number of the step, from 1."""
        return self.plan.step
