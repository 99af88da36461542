"""The sections `train`, `env`, `budget`, and the whole configuration with those of the other files.

Frozen values with validated ranges. A field exists only when something reads it; settings of mechanisms that this
version lacks are listed in `unsupported_keys.yaml`. Keys of one environment are declared by that environment and land
in `env_settings`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializeAsAny

from skillopt.config.keys import Key, Section
from skillopt.config.schema.evaluation import EvaluationSection
from skillopt.config.schema.executor import ExecutorSection
from skillopt.config.schema.model import ModelSection
from skillopt.config.schema.model_types import Seconds, Temperature, Tokens
from skillopt.config.schema.optimizer import GradientSection, OptimizerSection
from skillopt.config.schema.tracking import TrackingSection
from skillopt.core.package import read_rules


def _ratio(value: str) -> str:
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*:[1-9]\d*", value):
        raise ValueError("expected train:val:test as three positive integers, for example 2:1:7")
    return value


def _rules(value: str) -> str:
    read_rules(value)
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
    search: Literal["published", "factorial"] = "published"
    """How edits are searched: the published step, or each rollout as a test of many edits and one proof at the end."""
    circuit_breaker: Annotated[int, Field(ge=1), Key(change="any")] = 10
    """Identical failures in a row, from one endpoint, that stop the run with the provider's words."""
    outage_minutes: Annotated[float, Field(ge=0), Key(change="any")] = 30
    """Minutes that an endpoint which has answered this run is waited for when it is down; 0 stops the run instead."""


class EnvSection(Section):
    """What every environment shares: data, splits, limits of one target call."""

    name: Annotated[str, Key(flat=("env",))] = ""
    """Environment to train on; required."""
    skill_init: Annotated[str, Key(change="any")] = ""
    """Initial skill: a file, or a directory with a SKILL.md whose other files go to agents too; blank starts empty."""
    skill_files: Annotated[str, AfterValidator(_rules)] = ""
    """Which of those files are trained too: PATTERN=off|body|free, the last that fits decides; body keeps the head."""
    skill_file_chars: Annotated[int, Field(ge=1)] = 20_000
    """Most characters that a trained file beside SKILL.md may have or grow to."""
    out_root: Annotated[str, Key(change="none")] = ""
    """Run directory; blank makes outputs/skillopt_<env>_<optimizer>_<time>."""
    split_mode: Literal["ratio", "split_dir"] = "ratio"
    """Cut one data file by ratio, or read ready splits from a directory."""
    split_ratio: Annotated[str, AfterValidator(_ratio)] = "2:1:7"
    """train:val:test for the ratio mode."""
    split_seed: int = 42
    """Seed of the ratio split."""
    split_dir: Annotated[str, Key(change="any")] = ""
    """Directory with ready splits for the split_dir mode."""
    data_path: Annotated[str, Key(change="any")] = ""
    """Data file or directory for the ratio mode, or hf://org/name@revision/path of the Hugging Face hub."""
    split_output_dir: Annotated[str, Key(change="any")] = ""
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
    executor: ExecutorSection = ExecutorSection()
    tracking: TrackingSection = TrackingSection()
    env_settings: SerializeAsAny[BaseModel] = NoSettings()


SECTION_MODELS: dict[str, type[Section]] = {
    "model": ModelSection,
    "train": TrainSection,
    "gradient": GradientSection,
    "optimizer": OptimizerSection,
    "evaluation": EvaluationSection,
    "env": EnvSection,
    "budget": BudgetSection,
    "executor": ExecutorSection,
    "tracking": TrackingSection,
}
