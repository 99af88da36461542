"""The episode contract: what a simulator is asked, what it answers, and what an environment may say about its play.

An episode is a function of item, seed and actions: played again with the same ones it answers the same, because that is
how it goes on after a worker was lost or a run was killed. What it needs must be in the item and in the environment's
settings: the environment is built anew in the worker where the episode lives, without `load`. Methods may be plain or
`async`. Whatever an episode raises, and a step that takes longer than `step_seconds`, is a fault of the simulator: the
outcome is missing, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from skillopt.agents.base import Attempt, EpisodeEnd, text_of
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.offers import offers
from skillopt.core.outcome import Scored
from skillopt.model.types import Message
from skillopt.work.unit import Needs

STEP_SECONDS = 60.0
OPEN_SECONDS = 120.0
"""What building the environment in a worker may take at least."""
NEEDS = Needs(cpu=0.1, memory_mb=128)
"""What an episode occupies: it waits for the model nearly all of its time."""

_TAG = re.compile(r"<(/?)action>", re.IGNORECASE)


@dataclass(frozen=True)
class Reset:
    """How an episode begins. `info` is kept for the scorer; the target sees of it what `turn_messages` shows."""

    observation: str
    info: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True)
class Step:
    """What an action brought. `score` is what the episode is worth if it ended here, 0 to 1; `hint` is for analysts
    (what was wrong, what would have been right) and never reaches the target; `info` is kept for the scorer, and the
    target sees of it what `turn_messages` shows."""

    observation: str
    score: float = 0.0
    done: bool = False
    hint: str = ""
    info: JsonObject = field(default_factory=dict[str, JsonValue])


class Episode(Protocol):
    """One run of a simulator. `reset` comes first and once; `close` frees what it holds, however the episode ended."""

    async def reset(self, seed: int) -> Reset:
        """Begin. Equal seeds begin equally."""
        ...

    async def step(self, action: str) -> Step:
        """Act. An action that makes no sense gets an observation that says so; it is no exception."""
        ...

    async def close(self) -> None:
        """Free what is held. What it raises is not told: the episode was over."""
        ...


@dataclass(frozen=True)
class Played:
    """One finished turn as the next request may show it."""

    reply: str
    action: str
    step: Step


@runtime_checkable
class Episodic(Protocol):
    """The part of an environment that makes it one of episodes. Besides it needs `max_turns`: the turns that an episode
    may take, usually `env.max_turns`; who needs more is scored where it stands. Optional, each by its name:

    `parse_action(item, reply) -> str` reads the action out of a reply (default: the last `<action>` tag, else the whole
    reply; a reply that was cut off by the token limit is read as an empty one);
    `takes_agents` True says that an agent may solve an item in one go, from `messages`, and that `score` knows what to
    do with an attempt that was no episode; `tools(item)` gives the target tools instead of actions (`episodes.tools`);
    `turn_messages(item, skill_text, start, played) -> tuple[Message, ...]` writes the request of each turn (default:
    `conversation`); `step_seconds`, `episode_seconds` (None: no deadline over all turns; the wait for an endpoint does
    not count) and `episode_needs`.
    """

    def open_episode(self, item: Item) -> Episode:
        """A new episode of an item, not begun yet."""
        ...


def turns_of(env: object) -> int:
    """How many turns an episode may take. Raises `ConfigError` where the environment does not say."""
    turns = getattr(env, "max_turns", None)
    if isinstance(turns, int) and turns >= 1:
        return turns
    raise ConfigError(
        f"environment {getattr(env, 'name', '')!r} has open_episode and max_turns={turns!r}",
        hint="give its class max_turns, usually that of the configuration: self.max_turns = config.max_turns",
    )


def takes_agents(env: object) -> bool:
    """Whether an agent may be the target: always, but for an environment of episodes that does not say so."""
    return not offers(env, Episodic) or bool(getattr(env, "takes_agents", False))


@runtime_checkable
class ParsesActions(Protocol):
    """See `Episodic`."""

    def parse_action(self, item: Item, reply: str) -> str: ...


@runtime_checkable
class WritesTurns(Protocol):
    """See `Episodic`."""

    def turn_messages(
        self, item: Item, skill_text: str, start: Reset, played: Sequence[Played]
    ) -> tuple[Message, ...]: ...


def parse_tag(reply: str) -> str:
    """The last `<action>…</action>` of a reply, else all of it.

    >>> parse_tag("The key is here. <action> take key </action>")
    'take key'
    """
    found = _actions(reply)
    return (reply[found[-1][1] : found[-1][2]] if found else reply).strip()


def tagged_action(reply: str) -> str | None:
    """The last `<action>…</action>` of a reply; None without one. `parse_tag` takes the whole reply then."""
    found = _actions(reply)
    return reply[found[-1][1] : found[-1][2]].strip() if found else None


def without_tag(reply: str) -> str:
    """What a reply says besides its actions; blank where the whole reply is one."""
    parts, at = list[str](), 0
    for start, _, _, end in _actions(reply):
        parts.append(reply[at:start])
        at = end
    return "".join([*parts, reply[at:]]).strip() if parts else ""


def _actions(reply: str) -> list[tuple[int, int, int, int]]:
    """Each pair of tags: where it begins, where its text begins and ends, where it ends. In one pass over the text."""
    found: list[tuple[int, int, int, int]] = []
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(reply):
        if not tag.group(1):
            opened = tag
        elif opened is not None:
            found.append((opened.start(), opened.end(), tag.start(), tag.end()))
            opened = None
    return found


def conversation(first: Sequence[Message], start: Reset, played: Sequence[Played]) -> tuple[Message, ...]:
    """The usual form: the environment's request, the first observation at its end, then replies and observations."""
    messages = list(first)
    if messages and messages[-1].role == "user":
        text = f"{text_of(messages[-1]).rstrip()}\n\n{start.observation}"
        messages[-1] = Message("user", text)
    else:
        messages.append(Message("user", start.observation))
    for turn in played:
        messages += [Message("assistant", turn.reply), Message("user", turn.step.observation)]
    return tuple(messages)


def reached(attempt: Attempt) -> Scored:
    """The outcome that an episode's own score says: `async def score(...): return reached(attempt)`.

    The last hint is the feedback that analysts read. Raises `DataError` for an attempt that was no episode.
    """
    end = attempt.episode
    if end is None:
        raise DataError("this attempt was no episode", hint="an environment with open_episode is needed")
    reason = "" if end.score >= 1.0 else _REASONS[end.ended].format(turns=end.turns, seen=end.observation)
    detail: dict[str, JsonValue] = {"turns": end.turns, "ended": end.ended}
    if end.hint:
        detail["feedback"] = end.hint
    return Scored(end.score, end.score, fail_reason=reason, predicted=end.last_action, detail=detail)


_REASONS = {
    "done": "the episode ended after {turns} turns: {seen}",
    "turns": "out of turns: {turns} turns and the task is not done",
    "context": "the conversation outgrew the model's context after {turns} turns",
}


def checked_score(item_id: str, value: object) -> float:
    """The boundary check of a step's score. Raises `DataError` naming item and value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise DataError(
            f"item {item_id!r}: the simulator said score={value!r}", hint="a score is a finite number from 0 to 1"
        )
    return float(value)


def end_of(played: Sequence[Played], start: Reset, ended: str) -> EpisodeEnd:
    """Where an episode stands after these turns."""
    if not played:
        return EpisodeEnd(0.0, ended, 0, observation=start.observation, info=start.info)
    last = played[-1]
    return EpisodeEnd(
        score=last.step.score,
        ended=ended,
        turns=len(played),
        last_action=last.action,
        observation=last.step.observation,
        hint=last.step.hint,
        info={**start.info, **last.step.info},
    )
