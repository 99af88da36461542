"""The SearchQA environment: questions over retrieved passages, scored by exact match (hard) and token F1 (soft).

One turn by default. With `env.max_turns` above 1 each further message asks for a review of the previous answer and
sends the context again; the conversation ends when a reply after the first one has answer tags, or at the last turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.scorers.extract import tagged
from skillopt.envs.scorers.text import normalise
from skillopt.envs.searchqa import rollout, scorer
from skillopt.envs.searchqa.dataloader import SOURCE
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message

_SCORER_VERSION = 1


class SearchQASettings(BaseModel):
    """Keys of section `env` that only SearchQA reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    context_chars: int = Field(
        default=6000, ge=200, description="Longest context in characters; cut between documents where possible."
    )


class SearchQAEnv:
    """See the module's contract."""

    Settings = SearchQASettings
    name = "searchqa"
    reads_workspace = False
    answers_stand_in_text = True
    pass_threshold = 1.0

    def __init__(self, config: EnvConfig, settings: SearchQASettings) -> None:
        self._config = config
        self._settings = settings
        self._system = Template.beside(__file__, "prompts/rollout_system.md")
        self._user = Template.beside(__file__, "prompts/rollout_user.md")
        self._review = Template.beside(__file__, "prompts/rollout_review.md")
        self._system_message = lru_cache(maxsize=8)(self._render_system)

    @property
    def version(self) -> str:
        parts = [_SCORER_VERSION, self._system.digest, self._user.digest, self._review.digest]
        return digest([*parts, self._settings.context_chars, self._config.max_turns])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    def load(self) -> Splits:
        return load_splits(self._config, SOURCE)

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        user = self._user.render(self._shown(item), where=f"item {item.id!r}")
        return (self._system_message(skill_text), Message("user", user))

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        if len(turns) >= self._config.max_turns:
            return None
        previous = turns[-1].reply
        if len(turns) > 1 and tagged(previous) is not None:
            return None
        return self._review.render({**self._shown(item), "previous": previous}, where=f"item {item.id!r}")

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return scorer.score(item, attempt.text)

    def task_text(self, item: Item) -> str:
        return str(item.data["question"])

    def golds(self, item: Item) -> tuple[str, ...]:
        return scorer.golds(item)

    def gold_form(self, item: Item, text: str) -> str | None:
        return normalise(text)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{scorer.golds(item)[0]}</answer>"

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)

    def _shown(self, item: Item) -> dict[str, str]:
        context = rollout.cut_context(str(item.data["context"]), self._settings.context_chars)
        return {"context": context, "question": str(item.data["question"])}

    def _render_system(self, skill_text: str) -> Message:
        return Message("system", self._system.render({"skill": skill_text if skill_text.strip() else ""}))
