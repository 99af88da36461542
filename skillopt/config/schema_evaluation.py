"""The section `evaluation`: the gate that decides on a candidate, and the sealed test."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skillopt.config.keys import Key, Section

Share = Annotated[float, Field(ge=0, le=1)]


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
