"""Calls of the gate: the published rule's, and the trials and looks of the paired one. Arithmetic on sizes only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.config import Config
from skillopt.config.derived import credit_calls, drafts, most_edits, trial_items

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
