"""Calls of the gate: the published rule's, and the trials and looks of the paired one. Arithmetic on sizes only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.config import Config

RESAMPLED = 3
"""From so many gate candidates on, one of them is a second sample of the reflection."""

EARLY_STOP_SHARE = 0.2
"""Share of the gate's calls that a clearly bad candidate still needs, the current skill's failures asked first."""


@dataclass(frozen=True)
class GateCalls:
    """Least and most calls of one step's gate (selection split) and trials (training items), and of the run's end."""

    gate: tuple[int, int]
    trial: tuple[int, int]
    last: tuple[int, int]


def gate_calls(config: Config, selection: int, train: int) -> GateCalls:
    """What the configured rule may ask in one step and after the last one."""
    evaluation = config.evaluation
    n = selection * evaluation.repeats
    early = EARLY_STOP_SHARE if evaluation.gate_early_stop and evaluation.use_gate else 1.0
    edits = most_edits(config)
    trial = trial_items(config, selection, train)
    credit = credit_calls(config, edits, trial)
    if not drafts(config):
        again = 2 if evaluation.gate_credit == "rejected" and credit else 1
        return GateCalls((math.ceil(n * early), again * n), (0, credit), (0, n))
    least = math.ceil(trial * early)
    # A look may prune first (every edit since the last proof left out once) and measure what it proved once more.
    return GateCalls((0, 2 * n), (least, credit + trial + trial * (edits + 1)), (0, 2 * n + trial))


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
