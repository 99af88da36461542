"""The game of `testing.rooms` as an environment of episodes, for `env.name: skillopt.testing.rooms_env:RoomsEnv`.

It needs no data: its worlds are numbered, and a split is a range of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.episodes import Reset, Step, reached
from skillopt.model.types import Message
from skillopt.testing import rooms

VERSION = 1


class RoomsSettings(BaseModel):
    """How many worlds each split has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    train_worlds: int = Field(default=16, ge=1, description="Worlds to learn from.")
    selection_worlds: int = Field(default=12, ge=1, description="Worlds for decisions.")
    test_worlds: int = Field(default=12, ge=1, description="Worlds for the claim at the end.")


class RoomsEpisode:
    """One game."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._world: rooms.World | None = None

    async def reset(self, seed: int) -> Reset:
        self._world = rooms.World.make(self._number, seed)
        return Reset(self._world.look())

    async def step(self, action: str) -> Step:
        assert self._world is not None
        said = self._world.act(action)
        return Step(said, score=float(self._world.opened), done=self._world.over, hint=self._world.hint)

    async def close(self) -> None:
        self._world = None


class RoomsEnv:
    """See the module."""

    Settings = RoomsSettings
    name = "rooms"
    pass_threshold = 1.0

    def __init__(self, config: EnvConfig, settings: RoomsSettings) -> None:
        self._config, self._settings = config, settings

    @property
    def version(self) -> str:
        return digest([VERSION, rooms.SYSTEM, self.max_turns])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def max_turns(self) -> int:
        return self._config.max_turns

    def open_episode(self, item: Item) -> RoomsEpisode:
        return RoomsEpisode(int(item.data["number"]))

    def load(self) -> Splits:
        sizes = (self._settings.train_worlds, self._settings.selection_worlds, self._settings.test_worlds)
        ends = [sum(sizes[: n + 1]) for n in range(3)]
        train, selection, test = (
            tuple(self._item(number) for number in range(end - size, end)[: self._config.limit or None])
            for size, end in zip(sizes, ends, strict=True)
        )
        return Splits(train, selection, test, train_total=sizes[0])

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        system = f"{rooms.SYSTEM}\n\n## Skill\n\n{skill_text}" if skill_text.strip() else rooms.SYSTEM
        return (Message("system", system), Message("user", self.task_text(item)))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return reached(attempt)

    def task_text(self, item: Item) -> str:
        return f"World {item.data['number']}: find the key that opens the {item.task_type}."

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return None

    def _item(self, number: int) -> Item:
        return Item(f"world-{number}", {"number": number}, f"chest of kind {number % len(rooms.OPENS)}")
