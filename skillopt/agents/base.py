"""The agent contract: how a target solves one task.

A target is either a chat model, a loop with tools around one, or a whole agent CLI; the environment does not care. It
gives the task (messages with and without the skill, the next turn of a conversation) and gets back text to score, the
trajectory that analysts read, and what the attempt cost. A lost attempt is data (`lost`), never an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from skillopt.agents.left_files import LeftFiles
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.skill import Skill
from skillopt.model.types import Message, Usage


@dataclass(frozen=True)
class Turn:
    """One model turn of a finished conversation: what was sent last, and the reply."""

    user: str
    reply: str


@dataclass(frozen=True)
class Sampling:
    """How the environment wants the target called; the configuration fills it."""

    max_completion_tokens: int = 16_384
    temperature: float | None = None
    deadline_s: float = 180.0


@dataclass(frozen=True)
class Listed:
    """A skill that the target is not told of and has to find: it stands in the agent's directory under its name, and
    the prompt is the request alone. `files` are all that the agent finds, rivals included."""

    prompt: str
    name: str
    text: str
    """The SKILL.md."""
    files: Mapping[str, bytes]
    others: Mapping[str, str] = field(default_factory=dict[str, str])
    """The mark that proves that a rival was loaded, by the rival's name."""


@dataclass(frozen=True)
class Task:
    """One item with one skill. `messages` renders the first request for a skill text ("" leaves the skill out), so
    that an agent may put the skill where it belongs. `stage` and `priority` govern the calls, `repeat` is part of
    their identity."""

    item: Item
    skill: Skill
    messages: Callable[[str], tuple[Message, ...]]
    next_turn: Callable[[Sequence[Turn]], str | Awaitable[str | None] | None]
    sampling: Sampling
    stage: str
    repeat: int = 0
    priority: int = 0
    files: bool = False
    """Whether the files that the target leaves are kept for the scorer (`Attempt.workspace`)."""
    given: Callable[[], Mapping[str, bytes]] = dict[str, bytes]
    """The files that an agent finds in its directory besides the task."""
    rollout: str = ""
    """The name that its calls carry, where somebody watches."""
    listed: Listed | None = None
    """Set where it is measured whether the skill is found; None where the skill is to be used."""


@dataclass(frozen=True)
class EpisodeEnd:
    """Where an episode stood when it was over. `ended` is `done`, `turns` (out of turns) or `context` (the conversation
    outgrew the model's context); in every case the target had its chance, and `score` (0 to 1) is what it reached."""

    score: float
    ended: str
    turns: int
    last_action: str = ""
    observation: str = ""
    hint: str = ""
    """What the simulator says of its last step to analysts, never to the target."""
    info: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def done(self) -> bool:
        """Whether the simulator itself ended the episode."""
        return self.ended == "done"


@dataclass(frozen=True)
class Attempt:
    """What came of a task. At most one of `lost` (not measured, with the reason) and `cut` (the target answered, but
    its answer does not fit what the configuration allows: 0.0 with the reason) is set.

    `tokens` are those of `core.rollout.Rollout`. `notes` is what an agent records besides: harness, version, exit
    reason, denials, whether the skill was read.
    """

    text: str = ""
    trajectory: tuple[JsonObject, ...] = ()
    tokens: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    system_prompt: str = ""
    user_prompt: str = ""
    lost: str = ""
    too_long: bool = False
    """`lost` because a prompt did not fit the target's context."""
    cut: str = ""
    notes: JsonObject = field(default_factory=dict[str, JsonValue])
    workspace: LeftFiles | None = None
    """The files that an agent program or a tool loop added or changed. None for a chat and for an episode, which have
    no directory, and where the environment says `reads_workspace = False`."""
    episode: EpisodeEnd | None = None
    """How the episode ended, for environments with `open_episode`; None for all others."""


@runtime_checkable
class Agent(Protocol):
    """A target that solves tasks in its own way."""

    @property
    def model(self) -> str:
        """Model name, for records."""
        ...

    async def attempt(self, task: Task) -> Attempt:
        """Solve one task. Raises `StopRun`, `ReplayMiss` and `DataError`; every other fault of a call is `lost`."""
        ...


@dataclass
class TokenSums:
    """Sums over the calls of one attempt; None before the first call, and where one call's part is unknown: a sum that
    leaves a call out would look like the whole."""

    calls: int = 0
    sums: dict[str, int | None] = field(
        default_factory=lambda: dict[str, "int | None"](prompt_tokens=None, completion_tokens=None, cached_tokens=None)
    )

    def add(self, usage: Usage) -> None:
        """One more call."""
        for name, value in (
            ("prompt_tokens", usage.prompt_tokens),
            ("completion_tokens", usage.completion_tokens),
            ("cached_tokens", usage.cached_tokens),
        ):
            now = self.sums[name] if self.calls else 0
            self.sums[name] = None if now is None or value is None else now + value
        self.calls += 1

    def to_json(self) -> dict[str, int | None]:
        """As `Rollout.tokens` wants them."""
        return {"calls": self.calls, **self.sums}


def text_of(message: Message) -> str:
    """The text of a message; parts that are not text are named by their type."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(str(p["text"]) if p.get("type") == "text" else f"[{p.get('type')}]" for p in message.content)


def first_prompts(messages: Sequence[Message]) -> tuple[str, str]:
    """System and user prompt of a first request, as the views show them."""
    system = next((text_of(m) for m in messages if m.role == "system"), "")
    return system, next((text_of(m) for m in reversed(messages) if m.role == "user"), "")


def truncated(cap: int) -> str:
    """The reason of an answer that was cut off by the token limit."""
    return f"truncated-output: reached max_completion_tokens={cap}"
