"""What a round of the factorial search says in its step record: the pool's size, and the lines of the draft with what
each of them does."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class EffectRecord:
    """A row of `effects.json`. Effects are shares of the mean score on training tasks; None before the first
    rollout."""

    line: int
    edit: JsonObject = field(default_factory=dict[str, JsonValue])
    born: int = 0
    """The step in which it joined the pool."""
    family: int = 0
    """The first line that says the same or is a variant of it."""
    support: int = 1
    """How often it was proposed, in whatever words."""
    rollouts: int = 0
    """How many had it."""
    effect: float | None = None
    interval: tuple[float, ...] | None = None
    """Holds the effect with probability .95."""
    p_positive: float | None = None
    kept: bool = False
    retired: bool = False


@dataclass(frozen=True, kw_only=True)
class FactorialRecord:
    """A round."""

    lines: int = 0
    """Edits tried so far."""
    kept: int = 0
    """Of them in the draft."""
    new: int = 0
    subsets: int = 0
    """Different texts of the round."""
    optimizer_calls: int = 0
    effects: tuple[EffectRecord, ...] = ()
    """Of the lines in the draft."""
