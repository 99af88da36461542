"""The ALFWorld environment: a household task in a text game, at most `env.max_turns` steps, one episode an item.

A game lives in a worker of the run's executor; a fault of the model or of the game is missing. A healthy reply without
an action looks around and has used a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome
from skillopt.envs.alfworld import rollout
from skillopt.envs.alfworld.dataloader import root_of, source
from skillopt.envs.alfworld.game import INSTALL, GameEpisode
from skillopt.envs.alfworld.reference import reference
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.episodes import Episode, Played, Reset
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message
from skillopt.work.unit import Needs

_LIBRARIES = ("textworld", "alfworld")


class ALFWorldSettings(BaseModel):
    """Keys of section `env` that only ALFWorld reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_root: str = Field(
        default="",
        description="Directory that game files are relative to; blank: $ALFWORLD_DATA, else ~/.cache/alfworld.",
    )


class ALFWorldEnv:
    """See the module's contract."""

    Settings = ALFWorldSettings
    name = "alfworld"
    pass_threshold = 1.0
    episode_needs = Needs(cpu=0.2, memory_mb=300)
    step_seconds = 180.0
    """A reset translates the game's rules: 3 s on a quiet core."""

    def __init__(self, config: EnvConfig, settings: ALFWorldSettings) -> None:
        self._config, self._settings = config, settings
        self._system = Template.beside(__file__, "prompts/rollout_system.md")
        self._user = Template.beside(__file__, "prompts/rollout_user.md")

    @property
    def version(self) -> str:
        return digest([rollout.VERSION, self._system.digest, self._user.digest, self.max_turns])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def max_turns(self) -> int:
        return self._config.max_turns

    def load(self) -> Splits:
        absent = [name for name in _LIBRARIES if find_spec(name) is None]
        if absent:
            raise ConfigError(f"ALFWorld needs the package {absent[0]}, which is not installed", hint=INSTALL)
        place = self._config.split_dir
        if self._config.split_mode == "split_dir" and not Path(place).is_dir():
            raise DataError(
                f"{place}: env.split_dir does not exist",
                hint="it holds {train,val,test}/items.json with {id, gamefile, task_type}, as the published path"
                " manifest does; the games themselves are fetched by alfworld-download",
            )
        return load_splits(self._config, source(root_of(self._settings.data_root)))

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return self.turn_messages(item, skill_text, Reset("(the first observation of the game)"), ())

    def turn_messages(self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
        skill = skill_text if skill_text.strip() else ""
        user = self._user.render(
            {"skill": skill, "most": self.max_turns, **rollout.shown(start, played)}, where=f"item {item.id!r}"
        )
        return (Message("system", self._system.render({})), Message("user", user))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    def parse_action(self, item: Item, reply: str) -> str:
        return rollout.action_of(reply)

    def open_episode(self, item: Item) -> Episode:
        return cast("Episode", GameEpisode(root_of(self._settings.data_root) / str(item.data["gamefile"])))

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return rollout.score(attempt)

    def hidden_reference(self, item: Item) -> str | None:
        return reference(root_of(self._settings.data_root) / str(item.data["gamefile"]))

    def task_text(self, item: Item) -> str:
        return f"A household task of the kind {item.task_type}, in the game {item.data['gamefile']}"

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)
