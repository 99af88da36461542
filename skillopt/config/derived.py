"""What follows from settings and from the sizes of the data: steps, trials, credit.

Run and forecast both ask here, so that neither can count differently from the other. Arithmetic only.
"""

from __future__ import annotations

import math

from skillopt.config import Config
from skillopt.core.errors import ConfigError


def steps_per_epoch(train_size: int, batch_size: int, accumulation: int) -> int:
    """`ceil(train_size / (batch_size · accumulation))`. Raises `ConfigError` for values below 1."""
    for name, value in (("batch_size", batch_size), ("accumulation", accumulation), ("train_size", train_size)):
        if value < 1:
            raise ConfigError(f"train.{name}={value}", hint="it must be at least 1")
    return math.ceil(train_size / (batch_size * accumulation))


RESAMPLED = 3
"""From so many gate candidates on, one of them is a second sample of the reflection."""


def drafts(config: Config) -> bool:
    """True under the rule that keeps drafts."""
    return config.evaluation.gate_rule == "paired" and config.evaluation.use_gate


def trial_items(config: Config, selection: int, train: int) -> int:
    """Training items of one trial, at most."""
    evaluation = config.evaluation
    return min(train, evaluation.gate_trial_items or max(8, math.ceil(0.4 * selection * evaluation.repeats)))


def most_edits(config: Config) -> int:
    """Edits that one step may apply, as the forecast counts them."""
    return max(1, config.optimizer.learning_rate)


def credit_calls(config: Config, edits: int, trial: int) -> int:
    """Most calls of one step's credit; 0 where it is off or the update is no patch."""
    evaluation = config.evaluation
    mode = evaluation.gate_credit
    if mode == "auto":
        mode = "always" if evaluation.gate_rule == "paired" else "off"
    if mode == "off" or not evaluation.use_gate or config.optimizer.skill_update_mode != "patch" or edits < 2:
        return 0
    return min(evaluation.gate_credit_calls or trial, edits * trial)
