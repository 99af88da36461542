"""Environments around what a program holds: the `jsonl` one on rows in memory, and a given one on other items."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from skillopt.api.given.items import HeldItems
from skillopt.core.errors import ConfigError
from skillopt.core.item import SPLITS, Item
from skillopt.envs.base import Env, Splits
from skillopt.envs.data.splits import write_generated
from skillopt.envs.jsonl.adapter import JsonlEnv
from skillopt.envs.jsonl.settings import JsonlSettings

if TYPE_CHECKING:
    from skillopt.config import Config


class HeldJsonl(JsonlEnv):
    """The `jsonl` environment whose items lie in memory."""

    def __init__(self, config: Config, settings: JsonlSettings, items: HeldItems) -> None:
        super().__init__(config.env, settings)
        self._held = items

    def load(self) -> Splits:
        return self.load_given(self._held.rows, self._held.manifest)


class LabelledTasks(JsonlEnv):
    """The `jsonl` environment of a calibration whose labels hold the tasks themselves."""

    def __init__(self, config: Config, settings: JsonlSettings, tasks: Mapping[str, str]) -> None:
        super().__init__(config.env, settings)
        self._tasks = tasks

    def load(self) -> Splits:
        return Splits(tuple(Item(name, {}) for name in self._tasks), (), ())

    def task_text(self, item: Item) -> str:
        return self._tasks[item.id]


def held_jsonl(config: Config, items: HeldItems) -> HeldJsonl:
    """Build it. Raises `ConfigError` where the configuration names another environment."""
    if not isinstance(config.env_settings, JsonlSettings):
        raise ConfigError(
            f"items were given, but env.name={config.env.name} reads its own",
            hint="leave items out (None), or leave env.name at jsonl",
        )
    return HeldJsonl(config, config.env_settings, items)


def with_items(env: Env, items: HeldItems) -> Env:
    """A copy of a given environment that loads these items."""
    parts = _items(items)
    splits = Splits(parts["train"], parts["selection"], parts["test"], len(parts["train"]), items.manifest)
    other = copy.copy(env)
    object.__setattr__(other, "load", lambda: splits)
    return other


def write_items(directory: Path, items: HeldItems) -> None:
    """Write items as a split directory that a configuration can name. Equal items give equal bytes."""
    write_generated(directory, _items(items), items.manifest)


def _items(items: HeldItems) -> dict[str, tuple[Item, ...]]:
    return {
        name: tuple(
            Item(str(row.data["id"]), dict(row.data), str(row.data.get("task_type") or "")) for row in items.rows[name]
        )
        for name in SPLITS
    }


def is_environment(given: object) -> bool:
    """Whether an object is an environment and no scorer."""
    return all(hasattr(given, name) for name in ("load", "messages", "score", "golds", "task_text"))


def as_environment(given: object) -> Env:
    """The object, for the type checker."""
    return cast("Env", given)
