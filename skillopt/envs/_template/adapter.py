"""The environment class: loader, messages and scorer put together. Batching, retries and resume are shared code."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.own import sources_digest
from skillopt.envs.templates import supplement
from skillopt.model.types import Message

from . import rollout
from .dataloader import SOURCE


class MySettings(BaseModel):
    """Keys of section `env` that only this environment reads; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quoted: bool = Field(default=True, description="Show the word in quotation marks.")


class MyEnv:
    """One class, a dozen short methods.

    Optional: `hidden_reference(item)` returns how an item is solved, for analysts and never for the target;
    `takes_readout = False` says that every word of a reply is scored, so that no diagnostic question fits beside it.
    For a simulator write `open_episode(item)` and `max_turns` (docs/guide/new-environment.md, "Episodes"): it is played
    turn by turn, and `score` returns `skillopt.envs.episodes.reached(attempt)` or reads `attempt.episode` itself. A
    scorer of an agent's files reads `attempt.workspace`; `reads_workspace = False` keeps none.
    """

    Settings = MySettings
    reads_workspace = False
    pass_threshold = 1.0

    def __init__(self, config: EnvConfig, settings: MySettings) -> None:
        self._config = config
        self._settings = settings

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def version(self) -> str:
        """Everything that changes a prompt or a score: settings, and the files of this folder."""
        return digest([sources_digest(__file__), self._settings.model_dump()])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    def load(self) -> Splits:
        return load_splits(self._config, SOURCE)

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return (Message("system", rollout.system_text(skill_text)), Message("user", self.task_text(item)))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return rollout.score(item, attempt.text)

    def task_text(self, item: Item) -> str:
        word = str(item.data["word"])
        return f"How many letters has {word!r}?" if self._settings.quoted else f"How many letters has {word}?"

    def golds(self, item: Item) -> tuple[str, ...]:
        return (rollout.gold(item),)

    def gold_reply(self, item: Item) -> str | None:
        """A right reply, for the check of the scorer before anything is spent."""
        return f"<answer>{rollout.gold(item)}</answer>"

    def prompt(self, name: str) -> str | None:
        """`prompts/<name>.md` beside this file, when there is one."""
        return supplement(__file__, name)
