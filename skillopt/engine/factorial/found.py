"""What one round of the factorial search found: values only; the views and the record are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.core.json_types import JsonValue
from skillopt.core.rollout import Rollout
from skillopt.engine.batches import StepPlan
from skillopt.engine.decision import Decision
from skillopt.engine.factorial.answers import Answered
from skillopt.optimizer.context import Tally
from skillopt.optimizer.factorial.design import Trial


@dataclass(frozen=True)
class Round:
    """Everything that one round found."""

    plan: StepPlan
    batches: tuple[tuple[Rollout, ...], ...]
    trials: tuple[Trial, ...]
    answered: Answered
    new: tuple[int, ...]
    """Factors that joined the pool."""
    rows: tuple[Mapping[str, JsonValue], ...]
    """What is believed of each line after the round."""
    decision: Decision | None
    tally: Tally
