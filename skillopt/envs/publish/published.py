"""An environment of a configuration as other libraries need it: items, the prompt of each, and the score of a reply.

What is published is the first request and the environment's own scorer; sampling, retries and records are the other
library's. An environment that plays turn by turn, or asks a judge, is refused: its loop and its judge live here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLIT_ALIASES, Item
from skillopt.core.outcome import Missing, Outcome
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, reseeded
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.judged import needs_judge
from skillopt.envs.registry import create_env, settings_schemas
from skillopt.model.types import Message


@dataclass(frozen=True)
class Published:
    """See the module."""

    env: Env
    items: tuple[Item, ...]
    skill: str

    def messages(self, item: Item) -> tuple[Message, ...]:
        """The request of an item. Raises `ItemFault`."""
        return self.env.messages(item, self.skill)

    async def outcome(self, item: Item, reply: str) -> Outcome:
        """What a run here would make of a reply; a reply that cannot be scored is missing, never 0."""
        return await outcome(self.env, item, reply)


def published(
    config: str | Path, *, split: str = "test", skill: str | Path | None = None, overrides: Sequence[str] = ()
) -> Published:
    """Load a split. `skill` is a file; None takes `env.skill_init`. Raises `ConfigError` or `DataError`."""
    schemas = settings_schemas()
    given = parse_overrides(list(overrides), schemas)
    settings = load_config(Path(config), overrides=given, environ=os.environ, env_schemas=schemas).config
    env = create_env(settings.env.name, settings.env, settings.env_settings)
    if hasattr(env, "open_episode") or needs_judge(env):
        why = "plays turn by turn" if hasattr(env, "open_episode") else "asks a judge"
        raise ConfigError(f"environment {env.name!r} {why}, which is done here", hint="use skillopt eval")
    if split not in SPLIT_ALIASES:
        raise ConfigError(f"no split is called {split!r}", hint=f"known: {', '.join(SPLIT_ALIASES)}")
    items = reseeded(env, env.load().named(SPLIT_ALIASES[split]), settings.train.seed)
    return Published(env, items, _text(skill or settings.env.skill_init))


def _text(skill: str | Path) -> str:
    if not str(skill).strip():
        return ""
    path = Path(skill) / "SKILL.md" if Path(skill).is_dir() else Path(skill)
    try:
        return Skill(path.read_text(encoding="utf-8")).text
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror}", hint="give a skill file, or a directory with a SKILL.md"
        ) from error


def reason(found: Outcome) -> str:
    """Why an outcome is no score."""
    return found.error if isinstance(found, Missing) else "not scored"
