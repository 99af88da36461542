"""From a configuration to what a run works on: environment, items, initial skill. Nothing is spent or written here."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.config import Config
from skillopt.core.skill import Skill
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.opening import check_train_size, load_env, starting_skill
from skillopt.envs.base import Env, Splits


@dataclass(frozen=True)
class Work:
    """What a run works on, loaded and checked."""

    config: Config
    env: Env
    splits: Splits
    initial: Skill


def load_work(config: Config, given: Given = NOTHING) -> Work:
    """Items, initial skill and the expected number of training items. Raises `DataError` or `ConfigError`."""
    env, splits = load_env(config, given=given)
    check_train_size(config, splits)
    return Work(config, env, splits, starting_skill(config, given))
