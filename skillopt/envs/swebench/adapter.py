"""The SWEBench environment: a repository with an issue, and a patch that makes its tests pass.

`env.runtime` *docker* is the published task: mini-swe-agent's prompts and container, graded by the harness of swebench.
*sandbox* is another protocol, for rows that hold their repository (the sample): actions are Python programs confined to
a copy of it, and the tests run confined too. An agent program is given the repository and changes it. Each row's
`detail.protocol` says which it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import cast

from pydantic import BaseModel, ConfigDict, Field

from skillopt.core.errors import ConfigError, ItemFault
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_text
from skillopt.core.outcome import Missing, Outcome
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.episodes import Episode, Played, Reset, conversation
from skillopt.envs.swebench import engine, rollout
from skillopt.envs.swebench.dataloader import Runtime, files_in, load
from skillopt.envs.swebench.episode import Bounds, ContainerEpisode, SandboxEpisode
from skillopt.envs.swebench.mini import INSTALL, mini
from skillopt.envs.swebench.rollout import Grading
from skillopt.envs.templates import Template, supplement
from skillopt.model.types import Message
from skillopt.work.confinement.sandbox import weakness
from skillopt.work.unit import Needs

_LIBRARIES = {"minisweagent": "mini-swe-agent", "swebench": "swebench"}


class SWEBenchSettings(BaseModel):
    """Keys of section `env` that only SWEBench reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset_name: str = Field(
        default="lite", description="Instances of a ratio split: lite, verified or full; env.data_path wins over it."
    )
    runtime: Runtime = Field(
        default="docker", description="Where commands and tests run: a container, or the sandbox of Python programs."
    )
    step_limit: int = Field(default=50, ge=1, description="Commands that a target may run for one instance.")
    timeout_per_instance: float = Field(default=600.0, description="Seconds for one instance; 0 or less: no limit.")
    command_seconds: float = Field(default=60.0, gt=0, description="Seconds that one command may take.")
    test_seconds: float = Field(default=1800.0, gt=0, description="Seconds that the tests of one patch may take.")
    eval_workers: int = Field(default=8, ge=1, description="Patches that are graded side by side.")


class SWEBenchEnv:
    """See the module's contract."""

    Settings = SWEBenchSettings
    name = "swebench"
    pass_threshold = 1.0
    takes_agents = True
    episode_needs = Needs(cpu=0.3, memory_mb=256)

    def __init__(self, config: EnvConfig, settings: SWEBenchSettings) -> None:
        self._config, self._settings = config, settings
        self._bounds = Bounds(settings.command_seconds)
        self._grading = Grading(settings.runtime, settings.test_seconds, self._bounds.memory_mb)
        self._system = Template.beside(__file__, "prompts/sandbox_system.md")
        self._agent = Template.beside(__file__, "prompts/agent_system.md")
        self._user = Template.beside(__file__, "prompts/rollout_user.md")

    @property
    def version(self) -> str:
        keys = self._settings.model_dump(exclude={"dataset_name", "eval_workers"})
        own = [self._system.digest, self._agent.digest, self._user.digest]
        return digest([rollout.VERSION, *own, mini().digest if self._in_container else "", keys])[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    @property
    def max_turns(self) -> int:
        return self._settings.step_limit

    @property
    def step_seconds(self) -> float:
        """A first step pulls an image."""
        return self._settings.command_seconds + (600.0 if self._in_container else 60.0)

    @property
    def episode_seconds(self) -> float | None:
        """See `env.timeout_per_instance`."""
        return self._settings.timeout_per_instance if self._settings.timeout_per_instance > 0 else None

    def load(self) -> Splits:
        if self._in_container:
            absent = next((name for module, name in _LIBRARIES.items() if find_spec(module) is None), "")
            if absent:
                raise ConfigError(f"SWEBench needs the package {absent}, which is not installed", hint=INSTALL)
            if why := engine.fault():
                raise ConfigError(
                    f"env.runtime=docker needs a container engine: {why}",
                    hint="start Docker; without it, configs/swebench/sample.yaml runs our own instances in the sandbox",
                )
        return load(self._config, self._settings.runtime, self._settings.dataset_name)

    def cautions(self) -> tuple[str, ...]:
        """See `Cautious`."""
        return (weakness(),) if not self._in_container and weakness() else ()

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        return self._asked(self._agent, item, skill_text)

    def turn_messages(self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
        if not self._in_container:
            return conversation(self._asked(self._system, item, skill_text), start, played)
        parts = mini()
        values = {"task": as_text(item.data.get("problem_statement")), **parts.container}
        system = parts.system.render(values)
        if skill_text.strip():
            system = f"{system.rstrip()}\n\n## Skill Document\n\n{skill_text}"
        first = (Message("system", system), Message("user", parts.instance.render(values, where=f"item {item.id!r}")))
        turns = [m for t in played for m in (Message("assistant", t.reply), Message("user", t.step.observation))]
        return (*first, *turns)

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    def parse_action(self, item: Item, reply: str) -> str:
        return reply

    def open_episode(self, item: Item) -> Episode:
        if self._in_container:
            return cast("Episode", ContainerEpisode(item, self._bounds))
        return SandboxEpisode(item, self._bounds)

    def given_files(self, item: Item) -> Mapping[str, bytes]:
        if not self._in_container:
            return {name: text.encode() for name, text in files_in(item.data["files"]).items()}
        try:
            return engine.repository(as_text(item.data["image"]))
        except OSError as error:
            raise ItemFault(f"item {item.id!r}: {error}") from error

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        try:
            patch, status = await asyncio.to_thread(self._patch, item, attempt)
        except ItemFault as error:
            return Missing(str(error))
        async with self._places:
            return await rollout.score(item, attempt, patch, status, self._grading, ctx.executor)

    def score_rests_on(self, item: Item, attempt: Attempt) -> JsonValue:
        if attempt.episode is not None:
            return text_digest(rollout.patch_of(attempt, None)[0])
        left = attempt.workspace.to_json() if attempt.workspace is not None else {}
        return [text_digest(attempt.text), digest(left)]

    def task_text(self, item: Item) -> str:
        return f"{item.task_type}: {as_text(item.data.get('problem_statement'))}"

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)

    @property
    def _in_container(self) -> bool:
        return self._settings.runtime == "docker"

    @cached_property
    def _places(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(self._settings.eval_workers)

    def _patch(self, item: Item, attempt: Attempt) -> tuple[str, str]:
        if attempt.episode is not None:
            return rollout.patch_of(attempt, None)
        given = self.given_files(item)
        return rollout.patch_of(attempt, {name: content.decode("utf-8", "replace") for name, content in given.items()})

    def _asked(self, system: Template, item: Item, skill_text: str) -> tuple[Message, ...]:
        skill = skill_text if skill_text.strip() else ""
        said = {"repo": item.task_type, "problem": as_text(item.data.get("problem_statement"))}
        user = self._user.render(said, where=f"item {item.id!r}")
        return (Message("system", system.render({"skill": skill})), Message("user", user))
