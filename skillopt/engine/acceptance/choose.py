"""The one place where a configuration becomes an acceptance rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skillopt.config import Config
from skillopt.config.derived import RuleName, rule_name
from skillopt.engine.acceptance.factorial import FactorialRule
from skillopt.engine.acceptance.off import OffRule
from skillopt.engine.acceptance.paired import PairedRule
from skillopt.engine.acceptance.proof import ProofRule
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.acceptance.strict import StrictRule
from skillopt.gate.alpha import level_of

RULES: Mapping[RuleName, Callable[[Config], AcceptanceRule]] = {
    "off": OffRule,
    "strict": StrictRule,
    "paired": PairedRule,
    "proof": ProofRule,
    "factorial": FactorialRule,
}


def rule_of(config: Config) -> AcceptanceRule:
    """The rule that a configuration asks for.

    >>> from skillopt.config import Config
    >>> type(rule_of(Config())).__name__
    'StrictRule'
    """
    return RULES[rule_name(config)](config)


def look_level(config: Config) -> float:
    """One-sided level of the look that a run ends with: of its first ending where endings share the level, else
    `evaluation.gate_alpha`.

    >>> from skillopt.config import Config
    >>> look_level(Config())
    0.05
    """
    alpha = config.evaluation.gate_alpha
    return level_of(alpha, 1) if rule_name(config) in ("proof", "factorial") else alpha
