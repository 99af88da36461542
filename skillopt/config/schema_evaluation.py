"""The section `evaluation`: the gate that decides on a candidate, and the sealed test."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from skillopt.config.keys import Key, Section

Share = Annotated[float, Field(ge=0, le=1)]


def _listed(value: Any) -> Any:
    """Words of a text with commas; blank means unset."""
    if not isinstance(value, str):
        return value
    return tuple(word.strip() for word in value.split(",") if word.strip()) or None


class EvaluationSection(Section):
    """The gate and the sealed test."""

    use_gate: bool = True
    """Keep a candidate only if it beats the current skill; false measures and keeps every candidate."""
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    """Score that the gate compares."""
    gate_mixed_weight: Share = 0.5
    """Weight of soft in the mixed metric."""
    gate_rule: Literal["strict"] = "strict"
    """Decision rule: a strict improvement of the measured score."""
    use_semantic_density: bool = False
    """Add a bonus for leading words (MUST, NEVER, …) to both scores that the strict gate compares."""
    semantic_density_weight: Share = 0.05
    """Gate score that a skill made of nothing but leading words would get on top."""
    leading_words: Annotated[tuple[str, ...] | None, BeforeValidator(_listed)] = None
    """Leading words as a list or with commas between them; null takes the built-in ones."""
    gate_order: Literal["failures_first", "file"] = "failures_first"
    """Order in which selection items are measured; what the current skill fails first makes early stops earlier."""
    gate_early_stop: bool = True
    """Stop measuring a candidate as soon as it can no longer win; the verdict is that of the full evaluation."""
    coverage_floor: Share = 0.95
    """Share of items that must have a score; below it the verdict is undecided."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """Draws per selection item, fixed before the run."""
    sel_env_num: Annotated[int, Field(ge=0)] = 0
    """Selection items used, from the front of the split; 0 for all."""
    test_env_num: Annotated[int, Field(ge=0)] = 0
    """Test items used, from the front of the split; 0 for all."""
    eval_test: bool = True
    """Measure initial and best skill on the sealed test split at the end."""
    prefetch: Annotated[bool, Key(change="any")] = True
    """Roll out the next batch with the current skill while a gate still runs; costs calls when the gate accepts."""
