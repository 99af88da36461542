"""The OfficeQA environment: a figure out of parsed Treasury bulletins.

Modes: *offline* with the functions glob, read and grep (`env.use_local_tools`; without them one call), and
*custom_search*, where the target's queries go to a search service. With `env.oracle_pages` the pages that hold the
answer stand in the prompt where the parsed bulletins have them, as in the published figures: a task of reading. Every
row says which protocol it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import ConfigError, ItemFault
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, as_text
from skillopt.core.outcome import Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.episodes import Episode, Played, Reset, conversation
from skillopt.envs.officeqa import rollout
from skillopt.envs.officeqa.corpus import corpus_roots, make_index
from skillopt.envs.officeqa.dataloader import SOURCE, files_of, several
from skillopt.envs.officeqa.search import SearchEpisode, Service
from skillopt.envs.officeqa.tools import NO_PAGES, TOOLS, CorpusEpisode, opened, shown_pages
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message

_MOST_FILES = 20


class OfficeQASettings(BaseModel):
    """Keys of section `env` that only OfficeQA reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dirs: tuple[str, ...] = Field(
        default=(), description="Directories of the parsed bulletins; empty: $OFFICEQA_DOCS_DIR."
    )
    search_mode: Literal["offline", "custom_search"] = Field(
        default="offline", description="The corpus on this machine, or a search service."
    )
    use_local_tools: bool = Field(default=True, description="Offline: give the target glob, read and grep.")
    oracle_pages: bool = Field(
        default=True, description="Show the pages that hold the answer, where the parsed bulletins have them."
    )
    search_url: str = Field(default="", description="Address of the search service (custom_search).")
    search_key_env: str = Field(
        default="OFFICEQA_SEARCH_API_KEY", description="Environment variable with the search service's key."
    )
    search_provider: str = Field(default="", description="Provider that the search service is asked to use.")
    search_results: int = Field(default=5, ge=1, le=50, description="Results asked for with each query.")


class OfficeQAEnv:
    """See the module's contract."""

    Settings = OfficeQASettings
    name = "officeqa"
    pass_threshold = 1.0
    reads_workspace = False
    takes_agents = True
    step_seconds = 300.0

    def __init__(self, config: EnvConfig, settings: OfficeQASettings) -> None:
        self._config, self._settings = config, settings
        self._system = Template.beside(__file__, "prompts/rollout_system.md")
        self._user = Template.beside(__file__, "prompts/rollout_user.md")

    @property
    def version(self) -> str:
        keys = self._settings.model_dump(mode="json", exclude={"data_dirs", "search_key_env"})
        return digest([rollout.VERSION, self._system.digest, self._user.digest, keys, self.max_turns])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def max_turns(self) -> int:
        return self._config.max_turns if self._mode != "plain" else 1

    @property
    def _mode(self) -> str:
        if self._settings.search_mode == "custom_search":
            return "search"
        return "tools" if self._settings.use_local_tools else "plain"

    @property
    def _roots(self) -> tuple[Path, ...]:
        return corpus_roots(self._settings.data_dirs)

    def load(self) -> Splits:
        if self._mode == "search":
            if not self._settings.search_url.strip():
                raise ConfigError("env.search_mode=custom_search needs env.search_url", hint="the service's address")
        else:
            make_index(self._roots)
        return load_splits(self._config, SOURCE)

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        seen = NO_PAGES
        if self._mode != "search":
            try:
                seen = shown_pages(item, self._roots, oracle=self._settings.oracle_pages)
            except OSError as error:
                raise ItemFault(f"item {item.id!r}: {error}") from error
        return conversation(self._asked(item, skill_text), Reset(seen), ())

    def turn_messages(self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
        return conversation(self._asked(item, skill_text), start, played)

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    def open_episode(self, item: Item) -> Episode:
        if self._mode == "search":
            s = self._settings
            service = Service(s.search_url, s.search_key_env, s.search_provider, s.search_results)
            return SearchEpisode(service, rounds=self.max_turns)
        return cast("Episode", CorpusEpisode(item, self._roots, oracle=self._settings.oracle_pages))

    def tools(self, item: Item) -> tuple[JsonObject, ...]:
        return TOOLS if self._mode == "tools" else ()

    def parse_action(self, item: Item, reply: str) -> str:
        return reply

    def given_files(self, item: Item) -> Mapping[str, bytes]:
        """An agent finds the source files in its directory, where they are known."""
        if self._mode == "search" or not files_of(item):
            return {}
        try:
            return {f"docs/{name}": path.read_bytes() for name, path in opened(item, self._roots).files.items()}
        except OSError as error:
            raise ItemFault(f"item {item.id!r}: {error}") from error

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        end = attempt.episode
        protocol = as_text(end.info.get("protocol")) if end is not None else "agent"
        gold = as_text(item.data.get("ground_truth"))
        return rollout.score(attempt.text, gold, protocol=protocol, needs_tag=self._mode != "plain" and end is not None)

    def task_text(self, item: Item) -> str:
        return as_text(item.data.get("question"))

    def golds(self, item: Item) -> tuple[str, ...]:
        return (as_text(item.data.get("ground_truth")),)

    def gold_reply(self, item: Item) -> str | None:
        return f"<answer>{item.data['ground_truth']}</answer>"

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)

    def _asked(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        system = self._system.render({"skill": skill_text if skill_text.strip() else "", "mode": self._mode})
        shown = {
            "question": as_text(item.data.get("question")),
            "files": files_of(item)[:_MOST_FILES],
            "hints": several(item.data.get("source_docs")),
            "mode": self._mode,
        }
        return (Message("system", system), Message("user", self._user.render(shown, where=f"item {item.id!r}")))
