"""An environment of a configuration as other libraries need it: items, the prompt of each, and the score of a reply.

What is published is the first request and the environment's own scorer; sampling, retries and records are the other
library's. An environment that plays turn by turn, uses tools or asks a judge is published through its own loop, with
the other library's models as target and judge (`rollout`); who can take a first request only asks `one_turn` before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLIT_ALIASES, Item
from skillopt.core.json_types import JsonObject
from skillopt.core.offers import offers
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, reseeded
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.episodes.protocol import Episodic
from skillopt.envs.judged import needs_judge
from skillopt.envs.lookups import LooksUp
from skillopt.envs.registry import create_env, settings_schemas
from skillopt.envs.rollout import Call, run_one
from skillopt.envs.scoring import Scoring
from skillopt.model.types import ChatModel, Message
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True)
class Published:
    """See the module."""

    env: Env
    items: tuple[Item, ...]
    skill: str
    turns: int = 1
    """Requests that an item may take."""

    @property
    def one_turn(self) -> bool:
        """Whether a request and the scorer are all of it."""
        return self.turns == 1 and not (
            offers(self.env, Episodic) or needs_judge(self.env) or offers(self.env, LooksUp)
        )

    def messages(self, item: Item) -> tuple[Message, ...]:
        """The request of an item. Raises `ItemFault`."""
        return self.env.messages(item, self.skill)

    async def outcome(self, item: Item, reply: str) -> Outcome:
        """What a run here would make of a reply; a reply that cannot be scored is missing, never 0."""
        return await outcome(self.env, item, reply)

    async def rollout(self, item: Item, target: ChatModel, judge: ChatModel | None = None) -> Rollout:
        """Play an item to its score, by the loop of a run. Raises `DataError` and `StopRun`; other faults are missing
        outcomes."""
        return await run_one(self.env, item, Skill(self.skill), target, Call(Stage.EVAL, scoring=Scoring(judge=judge)))


def published(
    config: str | Path, *, split: str = "test", skill: str | Path | None = None, overrides: Sequence[str] = ()
) -> Published:
    """Load a split. `skill` is a file; None takes `env.skill_init`. Raises `ConfigError` or `DataError`."""
    schemas = settings_schemas()
    given = parse_overrides(list(overrides), schemas)
    settings = load_config(Path(config), overrides=given, environ=os.environ, env_schemas=schemas).config
    env = create_env(settings.env.name, settings.env, settings.env_settings)
    if split not in SPLIT_ALIASES:
        raise ConfigError(f"no split is called {split!r}", hint=f"known: {', '.join(SPLIT_ALIASES)}")
    items = reseeded(env, env.load().named(SPLIT_ALIASES[split]), settings.train.seed)
    return Published(env, items, _text(skill or settings.env.skill_init), settings.env.max_turns)


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


def told(found: Outcome) -> JsonObject:
    """An outcome as another library's records keep it."""
    if not isinstance(found, Scored):
        return {"missing": reason(found)}
    return {"hard": found.hard, "soft": found.soft, "fail_reason": found.fail_reason, "predicted": found.predicted}


def retold(kept: Mapping[str, Any]) -> Outcome:
    """The outcome of `told`."""
    return Missing(str(kept["missing"])) if "missing" in kept else Scored(**kept)
