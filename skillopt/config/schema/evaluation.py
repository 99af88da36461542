"""The section `evaluation`: the gate that decides on a candidate, and the sealed test."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from skillopt.config.keys import Key, Section

Share = Annotated[float, Field(ge=0, le=1)]


def _listed(value: object) -> object:
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
    gate_rule: Literal["strict", "paired", "proof"] = "strict"
    """Decision rule: strict keeps any higher score; proof climbs on training items and proves the result once, at the
    end, against the initial skill; paired proves on the way, with one error level for all its looks."""
    gate_alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Rules proof and paired: chance that a run without any true gain accepts something, all its endings included."""
    gate_min_effect: Share = 0.0
    """Rules proof and paired: smallest gain of the gate score, 0 to 1, that is worth accepting."""
    gate_futility: Annotated[float, Field(ge=0, lt=0.5)] = 0.1
    """Paired rule: chance of dropping a candidate early that would have passed; 0 stops on certainty only."""
    gate_trial_items: Annotated[int, Field(ge=0)] = 0
    """Rules proof and paired: training items of a candidate's trial; 0 takes 1.2 times the selection split's size
    under proof, which ends a trial once its outcome is clear, and four tenths of it under paired."""
    gate_credit: Literal["auto", "off", "rejected", "always"] = "auto"
    """Try the edits of a patch one by one on training items: always, after a rejection, or never; auto is always under
    the rules proof and paired and off under the strict one."""
    gate_credit_calls: Annotated[int, Field(ge=0)] = 0
    """Most target calls that one step's credit may make; 0 takes as many as one trial."""
    gate_candidates: Annotated[int, Field(ge=1)] = 1
    """Candidates raced on the same training items before the gate: the whole patch, its top edits alone and, from three
    on, a second sample of the reflection."""
    gate_max_regressions: Annotated[int, Field(ge=0)] | None = None
    """Regression budget: most selection items that an accepted candidate may lose; null for no limit."""
    gate_shorter_margin: Share = 0.0
    """Paired rule: loss of gate score that a shorter skill may risk in a non-inferiority test; 0 switches it off."""
    gate_shorter_by: Share = 0.1
    """Share by which a text must be shorter for that test."""
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
