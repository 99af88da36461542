"""The environment contract.

An environment loads items, builds the target's messages and scores what the target left. Batching, retries, limits,
resume and artifacts are shared code (`envs.runner`, the engine); an environment of 100–200 lines is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from skillopt.agents.base import Attempt as Attempt
from skillopt.agents.base import Listed
from skillopt.agents.base import Sampling as Sampling
from skillopt.agents.base import Turn as Turn
from skillopt.core.item import Item
from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome
from skillopt.core.skill import Skill
from skillopt.envs.episodes.protocol import Episodic
from skillopt.envs.scoring import ScoreContext as ScoreContext
from skillopt.model.types import Message


@dataclass(frozen=True)
class Splits:
    """The three splits, in file order. `train_total` is the size before `limit` cut it."""

    train: tuple[Item, ...]
    selection: tuple[Item, ...]
    test: tuple[Item, ...]
    train_total: int = 0
    manifest: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`split_manifest.json` of a generated split; empty for `split_dir`."""
    uncut: Mapping[str, tuple[Item, ...]] = field(default_factory=dict[str, "tuple[Item, ...]"])
    """What a generated split consists of where `limit` cut it; empty where it did not."""

    def named(self, split: str) -> tuple[Item, ...]:
        """Items of a canonical split name (`core.item.SPLITS`)."""
        return {"train": self.train, "selection": self.selection, "test": self.test}[split]


class Env(Protocol):
    """One benchmark or one person's own tasks."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Changes whenever prompt or scorer change; in the fingerprint of a run."""
        ...

    @property
    def sampling(self) -> Sampling: ...

    @property
    def pass_threshold(self) -> float:
        """An item passes when `hard` reaches this; 1.0 unless the scorer is graded."""
        ...

    def load(self) -> Splits:
        """Read and check the items. Raises `DataError` naming file, item and field; spends nothing."""
        ...

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        """The first request: system message (shared text, then the skill), then the item. No gold value in it.
        Raises `ItemFault` where a file of the item is gone."""
        ...

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        """The next user message after the given turns, or None when the conversation is over."""
        ...

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Score what the target left: `attempt.text`, its trajectory, its files. `Missing` where there was no verdict;
        raises nothing for a wrong or empty answer. A plain `score(item, text)` is taken as well (`envs.scoring`)."""
        ...

    def task_text(self, item: Item) -> str:
        """What an analyst sees as the task (at most a few thousand characters)."""
        ...

    def golds(self, item: Item) -> tuple[str, ...]:
        """Gold values of the item as text, for the leakage check and the contrast shown to analysts on train items."""
        ...

    def prompt(self, name: str) -> str | None:
        """This environment's own template for an optimizer prompt (`analyst_error`, …), or None for the generic one."""
        ...


@runtime_checkable
class NamesItsParts(Protocol):
    """An environment that can say what its version is made of, so that a message can say what has changed."""

    def version_parts(self) -> Mapping[str, str]:
        """Digests by what people call the part: `the scorer function my_scorer:score`."""
        ...


@runtime_checkable
class Referenced(Protocol):
    """An environment that knows how some of its items are solved."""

    def hidden_reference(self, item: Item) -> str | None:
        """A worked solution, a plan, a sketch: for analysts, on training items only. The target never sees it."""
        ...


@runtime_checkable
class Reseeded(Protocol):
    """An environment that draws something of an item anew: the order of its options, for one."""

    def reseeded(self, item: Item, seed: int) -> Item:
        """The item as a seed has it, whatever it was before. Equal arguments give equal items."""
        ...


def reseeded(env: Env, items: Sequence[Item], seed: int) -> tuple[Item, ...]:
    """The items as a seed has them; a batch has a seed of its own, and every evaluation that of the run."""
    return tuple(env.reseeded(item, seed) for item in items) if isinstance(env, Reseeded) else tuple(items)


def hidden_reference(env: Env, item: Item) -> str:
    """What the environment knows of an item's solution besides the gold value; blank for most environments."""
    return (env.hidden_reference(item) or "").strip() if offers(env, Referenced) else ""


def takes_readout(env: Env) -> bool:
    """Whether the target may be asked a diagnostic question beside the task. An environment in which every word of a
    reply is the answer says no with an attribute `takes_readout = False`, and one of episodes by being one."""
    return bool(getattr(env, "takes_readout", True)) and not offers(env, Episodic)


def reads_workspace(env: Env) -> bool:
    """Whether the files that an agent leaves are kept for the scorer; an environment that reads text only says no with
    an attribute `reads_workspace = False`."""
    return bool(getattr(env, "reads_workspace", True))


def needs_workspace(env: Env) -> bool:
    """Whether the scorer cannot do without the files that an agent leaves: attribute `needs_workspace = True`."""
    return bool(getattr(env, "needs_workspace", False))


@runtime_checkable
class Cautious(Protocol):
    """An environment that has something to say about the machine it runs on before anything is spent."""

    def cautions(self) -> tuple[str, ...]:
        """A sentence each; they stand among the run's notices and in its report."""
        ...


def cautions(env: Env) -> tuple[str, ...]:
    """What an environment has to say about the machine; nothing for most."""
    return env.cautions() if offers(env, Cautious) else ()


@runtime_checkable
class GivesFiles(Protocol):
    """An environment whose items have files that an agent finds in its directory."""

    def given_files(self, item: Item) -> Mapping[str, bytes]:
        """Relative path → content; no gold value among them. Raises `ItemFault`."""
        ...


def given_files(env: Env, item: Item) -> Mapping[str, bytes]:
    """The files of an item that an agent finds in its directory; none for most environments."""
    return env.given_files(item) if offers(env, GivesFiles) else {}


@runtime_checkable
class ListsSkills(Protocol):
    """An environment that measures whether an agent finds a skill, and not what it does with it."""

    def listed(self, item: Item, skill: Skill) -> Listed:
        """What the agent finds in its directory, and what it is asked."""
        ...

    def control_item(self, backend: str) -> Item:
        """An item on which any skill must be found: it asks for the skill by its name."""
        ...


class EnvConfig(Protocol):
    """The keys of section `env` that all environments share, frozen. What one environment adds is its `Settings`."""

    @property
    def name(self) -> str: ...

    @property
    def skill_init(self) -> str: ...

    @property
    def split_mode(self) -> str:
        """`split_dir` or `ratio`."""
        ...

    @property
    def split_ratio(self) -> str:
        """`train:val:test`, positive integers."""
        ...

    @property
    def split_seed(self) -> int: ...

    @property
    def split_dir(self) -> str: ...

    @property
    def data_path(self) -> str: ...

    @property
    def split_output_dir(self) -> str:
        """Directory that receives a generated split; blank writes none (the engine sets
        `<out_root>/_generated_splits`)."""
        ...

    @property
    def exec_timeout(self) -> float:
        """Seconds per target call; 0 or less switches the deadline off."""
        ...

    @property
    def limit(self) -> int:
        """Cuts each split; 0 keeps all."""
        ...

    @property
    def workers(self) -> int: ...

    @property
    def max_turns(self) -> int: ...

    @property
    def max_completion_tokens(self) -> int: ...

    @property
    def temperature(self) -> float | None: ...


_NO_DEADLINE_S = 86_400.0
_DEADLINE_SLACK_S = 60.0


def sampling_of(config: EnvConfig) -> Sampling:
    """Sampling from the common keys: one deadline per item, `exec_timeout` plus a minute for its retries."""
    deadline = config.exec_timeout + _DEADLINE_SLACK_S if config.exec_timeout > 0 else _NO_DEADLINE_S
    return Sampling(
        max_completion_tokens=config.max_completion_tokens, temperature=config.temperature, deadline_s=deadline
    )
