"""The environment class. The document under training is the description, one paragraph; the target is an agent program.

A literal invocation comes first (`control_item`): where even that does not load the skill, nothing can be measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from skillopt.agents.base import Listed
from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Outcome
from skillopt.core.skill import Skill
from skillopt.envs.base import Attempt, EnvConfig, Sampling, ScoreContext, Splits, Turn, sampling_of
from skillopt.envs.data.splits import load_splits
from skillopt.envs.templates import supplement
from skillopt.envs.triggers import rollout
from skillopt.envs.triggers.dataloader import SOURCE
from skillopt.model.types import Message

VERSION = 1


class TriggerSettings(BaseModel):
    """Keys of section `env` that only this environment reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    skill: str = Field(default="", description="The skill whose description is measured: a directory or a SKILL.md.")
    rivals: tuple[str, ...] = Field(
        default=(), description="Skills that are installed beside it, directories; an agent chooses among all."
    )


class TriggerEnv:
    """See the module."""

    Settings = TriggerSettings
    name = "triggers"
    pass_threshold = 1.0
    reads_workspace = False
    takes_readout = False

    def __init__(self, config: EnvConfig, settings: TriggerSettings) -> None:
        self._config = config
        if not settings.skill:
            raise ConfigError("env.skill is not set", hint="name the skill whose description is measured")
        self._skill = rollout.described(settings.skill)
        self._rivals = tuple(rollout.described(place) for place in settings.rivals)
        names = [self._skill.name, *(rival.name for rival in self._rivals)]
        double = next((name for name in names if names.count(name) > 1), None)
        if double:
            raise ConfigError(f"env.rivals: two skills are named {double}", hint="a rival has a name of its own")

    @property
    def version(self) -> str:
        rivals = [[rival.name, rival.description] for rival in self._rivals]
        return digest({"v": VERSION, "skill": self._skill.name, "rivals": rivals})[:16]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self._config)

    def load(self) -> Splits:
        return load_splits(self._config, SOURCE)

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        del skill_text
        return (Message("user", str(item.data["query"])),)

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return None

    def listed(self, item: Item, skill: Skill) -> Listed:
        """What the agent finds; see `agents.base.Listed`."""
        return rollout.listed(str(item.data["query"]), self._skill.name, skill, self._rivals)

    def control_item(self, backend: str) -> Item:
        """The literal invocation, as each program spells it: with the skill it must be right."""
        name = self._skill.name
        words = {"claude_code_exec": f"/{name}", "codex_exec": f"${name}"}
        query = words.get(backend, f"Use the skill `{name}` now: load it before anything else.")
        return Item("literal-invocation", {"query": query, "should_trigger": True})

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        notes = ctx.rollout.agent
        if "skill_read" not in notes:
            return Missing("the target reports no loaded skills: triggers need an agent program")
        loaded = notes.get("skills")
        others = [str(name) for name in loaded if name != self._skill.name] if isinstance(loaded, list) else []
        return rollout.score(bool(item.data["should_trigger"]), bool(notes["skill_read"]), others)

    def task_text(self, item: Item) -> str:
        wanted = "should" if item.data["should_trigger"] else "should not"
        return f"A person asks the agent:\n\n{item.data['query']}\n\nThe skill {wanted} be loaded for this."

    def golds(self, item: Item) -> tuple[str, ...]:
        return ()

    def prompt(self, name: str) -> str | None:
        return supplement(__file__, name)
