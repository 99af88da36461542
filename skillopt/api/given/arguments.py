"""What `optimize`, `plan` and `evaluate` are called with, as it was given: nothing is read or checked here.

`request` makes a configuration and held objects of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.api.given.forms import BudgetLike, ConfigLike


@dataclass(frozen=True)
class Arguments:
    """What `optimize`, `plan` and `evaluate` have in common."""

    items: object = None
    train: object = None
    selection: object = None
    test: object = None
    scorer: object = None
    target: object = None
    optimizer: object = None
    skill: object = ""
    config: ConfigLike = None
    overrides: Mapping[str, object] = field(default_factory=dict[str, object])
    prompt: str = ""
    out: str | Path | None = None
    budget: BudgetLike = None
    executor: str | None = None
    gate: str | None = None
    effort: str | None = None
    seed: int | None = None
