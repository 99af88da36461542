"""The sections `train`, `gradient`, `optimizer`, `evaluation`, `env`, `budget`, and the whole configuration.

Frozen values with validated ranges. A field exists only when something reads it; settings of mechanisms that this
version lacks are listed in `not_built.yaml`. Keys of one environment are declared by that environment and land in
`env_settings`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializeAsAny

from skillopt.config.keys import Key, Section
from skillopt.config.schema_model import ModelSection, Seconds, Temperature, Tokens

Share = Annotated[float, Field(ge=0, le=1)]


def _ratio(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*:[1-9]\d*", value):
        raise ValueError("expected train:val:test as three positive integers, for example 2:1:7")
    return value


class TrainSection(Section):
    """The loop: epochs, batches, the seed."""

    num_epochs: Annotated[int, Field(ge=1), Key(change="grow")] = 4
    """Passes over the training items; may be raised on a finished run."""
    train_size: Annotated[int, Field(ge=0)] = 0
    """Training items expected in the data, 0 for whatever is there; a mismatch is an error."""
    batch_size: Annotated[int, Field(ge=1)] = 40
    """Items rolled out per batch."""
    accumulation: Annotated[int, Field(ge=1)] = 1
    """Batches whose patches are pooled into one step."""
    seed: int = 42
    """Seed of every random stream of the run."""
    circuit_breaker: Annotated[int, Field(ge=1), Key(change="any")] = 10
    """Identical failures in a row, from one endpoint, that stop the run with the provider's words."""


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


class OptimizerSection(Section):
    """The textual learning rate, the update, and what one optimizer call may use."""

    learning_rate: Annotated[int, Field(ge=0), Key(flat=("edit_budget", "learning_rate"))] = 4
    """Most edits that one step may apply."""
    min_learning_rate: Annotated[int, Field(ge=0), Key(flat=("min_edit_budget", "min_learning_rate"))] = 2
    """Floor of the decaying schedules."""
    lr_scheduler: Literal["constant", "linear", "cosine", "autonomous"] = "cosine"
    """How the edit budget moves over the run; autonomous means no limit."""
    lr_control_mode: Annotated[
        Literal["fixed", "none"],
        Key(values={"manual": "fixed", "scheduler": "fixed", "scheduled": "fixed", "off": "none", "no_lr": "none"}),
    ] = "fixed"
    """Whether the schedule limits the edits of a step, or none are dropped."""
    skill_update_mode: Annotated[Literal["patch"], Key(values={"edits": "patch"})] = "patch"
    """How a step changes the skill."""
    insert_after_fallback: Literal["skip", "append"] = "skip"
    """What becomes of an insert_after edit whose target is not found once in the skill."""
    proposals: Annotated[int, Field(ge=1)] = 1
    """Independent proposals sampled per step from the same trajectories; more than one are raced."""
    race_items: Annotated[int, Field(ge=1)] = 8
    """Training items of the step's batch on which proposals are raced."""
    analyst_profile: Literal["full", "compact"] = "full"
    """Reflection prompt: full for strong models, compact contrasts right and wrong cases for small ones."""
    temperature: Annotated[Temperature | None, Key(flat=("optimizer_temperature",))] = None
    """Sampling temperature of optimizer calls; null leaves it to the backend."""
    max_completion_tokens: Annotated[Tokens, Key(flat=("optimizer_max_completion_tokens",))] = 16_384
    """Most tokens that an optimizer reply may have; a reply cut off there is not adopted."""
    prompt_token_budget: Annotated[int, Field(ge=1000)] = 100_000
    """Tokens an optimizer prompt may have; trajectories are cut to fit, the skill never."""
    leakage: Literal["strip", "refuse", "off"] = "strip"
    """What happens to edits that copy training answers, selection items or gold values into the skill."""
    deadline_seconds: Annotated[Seconds, Key(flat=("optimizer_deadline_seconds",), change="any")] = 600
    """Seconds for one optimizer call with all its attempts."""


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


class EnvSection(Section):
    """What every environment shares: data, splits, limits of one target call."""

    name: Annotated[str, Key(flat=("env",))] = ""
    """Environment to train on; required."""
    skill_init: str = ""
    """File with the initial skill; blank starts from an empty one."""
    out_root: Annotated[str, Key(change="none")] = ""
    """Run directory; blank makes outputs/skillopt_<env>_<optimizer>_<time>."""
    split_mode: Literal["ratio", "split_dir"] = "ratio"
    """Cut one data file by ratio, or read ready splits from a directory."""
    split_ratio: Annotated[str, AfterValidator(_ratio)] = "2:1:7"
    """train:val:test for the ratio mode."""
    split_seed: int = 42
    """Seed of the ratio split."""
    split_dir: str = ""
    """Directory with ready splits for the split_dir mode."""
    data_path: str = ""
    """Data file or directory for the ratio mode."""
    split_output_dir: str = ""
    """Where a generated split is written; blank puts it into the run directory."""
    exec_timeout: Annotated[Seconds, Key(change="any")] = 120
    """Seconds for one target call with all its attempts."""
    limit: Annotated[int, Field(ge=0)] = 0
    """Items kept of each split; 0 for all."""
    workers: Annotated[int, Field(ge=1), Key(change="any")] = 8
    """Rollouts in flight at once."""
    max_turns: Annotated[int, Field(ge=1)] = 1
    """Model turns per item."""
    max_completion_tokens: Tokens = 16_384
    """Most tokens that a target reply may have."""
    temperature: Temperature | None = None
    """Sampling temperature of the target; null leaves it to the backend."""


class BudgetSection(Section):
    """Caps over optimizer, target and judge together, reserved before each call. null means no cap."""

    max_usd: Annotated[Annotated[float, Field(ge=0)] | None, Key(change="grow")] = None
    """US dollars; needs a price for every model in use."""
    max_tokens: Annotated[Annotated[int, Field(ge=0)] | None, Key(change="grow")] = None
    """Prompt and completion tokens."""
    max_calls: Annotated[Annotated[int, Field(ge=0)] | None, Key(change="grow")] = None
    """Model calls."""
    max_hours: Annotated[Annotated[float, Field(ge=0)] | None, Key(change="grow")] = None
    """Wall time in hours, over all processes of the run."""
    patience: Annotated[Annotated[int, Field(ge=1)] | None, Key(change="grow")] = None
    """Steps without an accepted candidate after which the run ends."""


class NoSettings(BaseModel):
    """Settings of an environment that declares none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Config(BaseModel):
    """A resolved configuration: every value final, backends canonical, models filled in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: ModelSection
    train: TrainSection
    gradient: GradientSection
    optimizer: OptimizerSection
    evaluation: EvaluationSection
    env: EnvSection
    budget: BudgetSection
    env_settings: SerializeAsAny[BaseModel] = NoSettings()


SECTION_MODELS: dict[str, type[Section]] = {
    "model": ModelSection,
    "train": TrainSection,
    "gradient": GradientSection,
    "optimizer": OptimizerSection,
    "evaluation": EvaluationSection,
    "env": EnvSection,
    "budget": BudgetSection,
}
