"""The sections `gradient` and `optimizer`: how trajectories become edits, and how the edits change the skill."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model import Seconds, Temperature, Tokens


class GradientSection(Section):
    """Reflection: how trajectories become proposed edits."""

    minibatch_size: Annotated[int, Field(ge=1)] = 8
    """Trajectories shown in one reflection call."""
    merge_batch_size: Annotated[int, Field(ge=2)] = 8
    """Patches merged by one aggregation call."""
    analyst_workers: Annotated[int, Field(ge=1), Key(change="any")] = 16
    """Optimizer calls in flight at once."""
    failure_only: bool = False
    """Leave successful trajectories out of reflection."""
    use_deep_reflect: bool = False
    """Run some items of each batch again with a short read-out question, and reflect on those attempts too."""
    deep_reflect_failures: Annotated[int, Field(ge=0)] = 4
    """Failed items of a batch that deep reflection runs again."""
    deep_reflect_successes: Annotated[int, Field(ge=0)] = 2
    """Passed items of a batch that deep reflection runs again."""


class OptimizerSection(Section):
    """The textual learning rate, the update, and what one optimizer call may use."""

    learning_rate: Annotated[int, Field(ge=0), Key(flat=("edit_budget", "learning_rate"))] = 4
    """Most edits that one step may apply."""
    min_learning_rate: Annotated[int, Field(ge=0), Key(flat=("min_edit_budget", "min_learning_rate"))] = 2
    """Floor of the decaying schedules."""
    lr_scheduler: Literal["constant", "linear", "cosine", "autonomous"] = "cosine"
    """How the edit budget moves over the run; autonomous means no limit."""
    lr_control_mode: Annotated[
        Literal["fixed", "autonomous", "none"],
        Key(
            values={
                **dict.fromkeys(("manual", "scheduler", "scheduled"), "fixed"),
                **dict.fromkeys(("auto", "optimizer"), "autonomous"),
                **dict.fromkeys(("off", "no_lr"), "none"),
            }
        ),
    ] = "fixed"
    """Who limits the edits of a step: the schedule, the optimizer in a call of its own, or nobody."""
    skill_update_mode: Annotated[
        Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"],
        Key(
            values={
                "edits": "patch",
                **dict.fromkeys(("rewrite", "suggestions", "rewrite_suggestions"), "rewrite_from_suggestions"),
                **dict.fromkeys(
                    ("full_rewrite", "minibatch_full_rewrite", "skill_rewrite_minibatch"), "full_rewrite_minibatch"
                ),
            }
        ),
    ] = "patch"
    """How a step changes the skill: by edits, by one rewrite that follows suggestions, or by whole documents."""
    insert_after_fallback: Literal["skip", "append"] = "skip"
    """What becomes of an insert_after edit whose target is not found once in the skill."""
    proposals: Annotated[int, Field(ge=1)] = 1
    """Independent proposals sampled per step from the same trajectories; more than one are raced."""
    race_items: Annotated[int, Field(ge=1)] = 8
    """Training items of the step's batch on which proposals are raced."""
    analyst_profile: Literal["full", "compact"] = "full"
    """Reflection prompt: full for strong models, compact contrasts right and wrong cases for small ones."""
    use_skill_aware_reflection: bool = False
    """Tell defects of the skill (edited) from lapses of the target (a reminder in the skill's appendix)."""
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    """Whose reminders enter the appendix: those of all analysts, or of the failure analyst only."""
    skill_aware_consolidate_threshold: Annotated[int, Field(ge=0)] = 0
    """Reminders above which the list is shortened by one optimizer call; 0 never shortens it."""
    skill_aware_gate_with_selection: bool = True
    """Reminders pass the gate like every other change; false keeps them as they come and measures them afterwards."""
    use_slow_update: bool = True
    """At each epoch's end, compare the skill with that of the epoch before and write guidance into its own region."""
    slow_update_samples: Annotated[int, Field(ge=1)] = 20
    """Training items on which both skills are compared at an epoch's end."""
    slow_update_gate_with_selection: bool = True
    """The guidance passes the gate like every other change; false keeps it and measures it at once."""
    longitudinal_pair_policy: Annotated[
        Literal["mixed", "changed", "unchanged"],
        Key(
            values={
                **dict.fromkeys(("default", "random", "all"), "mixed"),
                **dict.fromkeys(("change", "delta", "10_01", "01_10"), "changed"),
                **dict.fromkeys(("stable", "same", "00_11"), "unchanged"),
            }
        ),
    ] = "mixed"
    """Compared items that are shown: all, those whose result changed (topped up from the rest), or those it did not."""
    use_meta_skill: bool = True
    """Keep a memory of which kinds of edits helped; the next epoch's optimizer prompts hold it."""
    use_meta_reflect: bool = False
    """At each epoch's end, look at all its decisions together and propose one more patch to the gate."""
    meta_learning_rate: Annotated[int, Field(ge=1), Key(flat=("meta_edit_budget", "meta_learning_rate"))] = 4
    """Most edits of the patch that meta reflection proposes."""
    temperature: Annotated[Temperature | None, Key(flat=("optimizer_temperature",))] = None
    """Sampling temperature of optimizer calls; null leaves it to the backend."""
    max_completion_tokens: Annotated[Tokens, Key(flat=("optimizer_max_completion_tokens",))] = 16_384
    """Most tokens that an optimizer reply may have; a reply cut off there is not adopted."""
    prompt_token_budget: Annotated[int, Field(ge=1000)] = 100_000
    """Tokens an optimizer prompt may have; trajectories are cut to fit, the skill never."""
    leakage: Literal["strip", "refuse", "off"] = "strip"
    """What happens to edits that copy training answers, selection items, gold values or a judge's text."""
    lint_veto: Literal["off", "errors"] = "errors"
    """Take out edits that would break the skill's header or markers or bring a secret into it (skillopt lint)."""
    deadline_seconds: Annotated[Seconds, Key(flat=("optimizer_deadline_seconds",), change="any")] = 600
    """Seconds for one optimizer call with all its attempts."""
