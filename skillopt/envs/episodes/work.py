"""Work `env.episode`: one episode in whatever process the executor chooses, asked request by request.

What is sent says how to build the environment again (`Recipe`), the item, and then resets and steps as JSON. A worker
keeps the environments it has built: the next episode there starts at once.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text, parse_json
from skillopt.core.offers import offers
from skillopt.envs.base import Env, EnvConfig
from skillopt.envs.episodes.protocol import Episode, Episodic, Reset, Step, checked_score
from skillopt.envs.episodes.recipe import Recipe
from skillopt.envs.registry import create_env, env_class
from skillopt.envs.scoring import Left, in_thread
from skillopt.work.errors import WorkFailed
from skillopt.work.handling import Unit

if TYPE_CHECKING:
    from pydantic import BaseModel

NAME = "env.episode"
EPISODES_KEPT = 8


def build(recipe: Recipe) -> Env:
    """The environment, not loaded. Raises `ConfigError`."""
    return create_env(recipe.name, cast("EnvConfig", SimpleNamespace(**recipe.config)), recipe.settings)


def recipe_of(env: Env, config: BaseModel, settings: BaseModel) -> Recipe | None:
    """How to build `env` in another process; None where it is no environment of episodes, or an object of the calling
    program that cannot be built from a configuration: its episodes run in this process."""
    name = str(getattr(config, "name", ""))
    if not offers(env, Episodic):
        return None
    try:
        if cast("object", type(env)) != env_class(name):
            return None
        recipe = Recipe(name, config.model_dump(mode="json"), settings.model_dump(mode="json"))
        return recipe if build(recipe).version == env.version else None
    except ConfigError:
        return None


def payload_of(recipe: Recipe, item: Item) -> JsonObject:
    """What is sent to open an episode."""
    return {
        "env": {"name": recipe.name, "config": recipe.config, "settings": recipe.settings},
        "item": {"id": item.id, "data": dict(item.data), "task_type": item.task_type},
    }


def open_session(payload: JsonObject, unit: Unit) -> EpisodeSession:
    """The worker's side. Raises `ConfigError` when the environment here is not the one that the driver has."""
    env = _built(json.dumps(payload["env"], sort_keys=True))
    if unit.version and env.version != unit.version:
        raise ConfigError(
            f"the source of environment {env.name!r} was changed while the run was on",
            hint="start the run again: with the new source it is another environment",
        )
    item = as_object(payload["item"])
    return EpisodeSession(
        cast("Episodic", env).open_episode(
            Item(as_text(item["id"]), as_object(item["data"]), as_text(item["task_type"]))
        )
    )


@lru_cache(maxsize=EPISODES_KEPT)
def _built(recipe: str) -> Env:
    value = as_object(parse_json(recipe))
    return build(Recipe(as_text(value["name"]), as_object(value["config"]), as_object(value["settings"])))


class EpisodeSession:
    """An episode asked with JSON. `in_threads` keeps plain methods off the event loop, where that is not a worker's
    own."""

    def __init__(self, episode: Episode, *, in_threads: bool = False) -> None:
        self._episode, self._in_threads = episode, in_threads

    async def step(self, payload: JsonObject) -> JsonObject:
        """`{"reset": seed}` or `{"action": text}`; the fields of `Reset` or `Step`. Raises what the episode raises."""
        if "reset" in payload:
            return _fields(await self._called(self._episode.reset, payload["reset"]), Reset)
        return _fields(await self._called(self._episode.step, payload["action"]), Step)

    async def close(self) -> None:
        """Let the episode free what it holds."""
        await self._called(self._episode.close)

    async def _called(self, method: Callable[..., object], *arguments: object) -> object:
        try:
            if self._in_threads and not inspect.iscoroutinefunction(method):
                value = await in_thread(method, *arguments)
            else:
                value = method(*arguments)
            return await cast("Awaitable[object]", value) if hasattr(value, "__await__") else value
        except (SystemExit, Left) as error:  # raised out of a task it would end the event loop
            raise WorkFailed(str(error), kind="SystemExit") from error


def _fields(value: object, kind: type[Reset] | type[Step]) -> JsonObject:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__.lower()} returned {type(value).__name__}, not {kind.__name__}")
    return cast("JsonObject", asdict(value))


def reset_from(value: JsonObject) -> Reset:
    """A `Reset` that was sent."""
    return Reset(as_text(value.get("observation")), as_object(value.get("info")))


def step_from(item_id: str, value: JsonObject) -> Step:
    """A `Step` that was sent. Raises `DataError` for a score that is none."""
    score: JsonValue = value.get("score")
    return Step(
        observation=as_text(value.get("observation")),
        score=checked_score(item_id, score),
        done=bool(value.get("done")),
        hint=as_text(value.get("hint")),
        info=as_object(value.get("info")),
    )
