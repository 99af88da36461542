"""What follows from settings and from the sizes of the data: the rule in force, steps, trials, credit.

Run and forecast both ask here, so that neither can count differently from the other. Arithmetic only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from skillopt.config import Config
from skillopt.core.errors import ConfigError

RuleName = Literal["off", "strict", "paired", "proof", "factorial"]
CreditMode = Literal["off", "rejected", "always"]

RESAMPLED = 3
"""From so many gate candidates on, one of them is a second sample of the reflection."""
TRIAL_SHARE = 0.4
"""Training items of a paired trial, as a share of the selection split, where `evaluation.gate_trial_items` is 0."""
PROOF_TRIAL_SHARE = 1.2
"""The same under the rule `proof`, which asks nothing of the selection split meanwhile and ends a trial once its
outcome is clear (`gate.futility`)."""
LEAST_TRIAL = 8


@dataclass(frozen=True)
class Sizes:
    """Items in use per split."""

    train: int
    selection: int
    test: int


def steps_per_epoch(train_size: int, batch_size: int, accumulation: int) -> int:
    """`ceil(train_size / (batch_size · accumulation))`. Raises `ConfigError` for values below 1."""
    for name, value in (("batch_size", batch_size), ("accumulation", accumulation), ("train_size", train_size)):
        if value < 1:
            raise ConfigError(f"train.{name}={value}", hint="it must be at least 1")
    return math.ceil(train_size / (batch_size * accumulation))


def rule_name(config: Config) -> RuleName:
    """The acceptance rule in force: `evaluation.gate_rule`, `off` where candidates are kept as measured, or that of
    the factorial search."""
    if config.train.search == "factorial":
        return "factorial"
    return config.evaluation.gate_rule if config.evaluation.use_gate else "off"


def factorial_calls(rollouts: int) -> int:
    """Optimizer calls of a factorial search over so many training rollouts.

    >>> factorial_calls(1200)
    40
    """
    return max(3, min(40, rollouts // 25))


def climbs_on_training_items(config: Config) -> bool:
    """True under a rule that keeps drafts: what passes a trial on training items goes on, proven or not."""
    return rule_name(config) in ("paired", "proof")


def keeps_drafts(config: Config) -> bool:
    """True under a rule whose current skill may be an unproven draft beside the best one."""
    return rule_name(config) in ("paired", "proof", "factorial")


def rejects_most(config: Config) -> bool:
    """True under a rule that rejects most candidates: then the next step's work can be done ahead."""
    return rule_name(config) == "strict"


def samples_of_reflection(config: Config) -> int:
    """Independent samples of a step's reflection."""
    return max(config.optimizer.proposals, 2 if config.evaluation.gate_candidates >= RESAMPLED else 1)


def draws_differ(config: Config) -> bool:
    """Whether two draws of one request can differ. At temperature 0 an engine of our own repeats itself; a hosted model
    does not promise to, and often does not."""
    return config.env.temperature != 0 or config.model.target_backend not in ("local", "scripted")


def trial_items(config: Config, selection: int) -> int:
    """Training items of one trial, as far as there are so many."""
    evaluation = config.evaluation
    share = PROOF_TRIAL_SHARE if rule_name(config) == "proof" else TRIAL_SHARE
    items = math.ceil(share * selection * evaluation.repeats)
    return evaluation.gate_trial_items or max(LEAST_TRIAL, items)


def most_edits(config: Config) -> int:
    """Edits that one step may apply, as the forecast counts them."""
    return max(1, config.optimizer.learning_rate)


def credit_mode(config: Config) -> CreditMode:
    """When the edits of a patch are tried one by one. `auto` is always under a rule that keeps drafts, else off."""
    mode = config.evaluation.gate_credit
    if not config.evaluation.use_gate:
        return "off"
    if mode != "auto":
        return mode
    return "always" if climbs_on_training_items(config) else "off"


def credit_budget(config: Config, selection: int) -> int:
    """Most calls of one step's credit, where it is on: as many as a paired trial unless a number is given."""
    if config.evaluation.gate_credit_calls:
        return config.evaluation.gate_credit_calls
    if rule_name(config) != "proof":
        return trial_items(config, selection)
    return max(LEAST_TRIAL, math.ceil(TRIAL_SHARE * selection * config.evaluation.repeats))


def credit_calls(config: Config, edits: int, selection: int, train: int) -> int:
    """Most calls of one step's credit; 0 where it is off or the update is no patch."""
    if credit_mode(config) == "off" or config.optimizer.skill_update_mode != "patch" or edits < 2:
        return 0
    most = edits * min(train, trial_items(config, selection))
    return min(config.evaluation.gate_credit_calls or min(train, credit_budget(config, selection)), most)
