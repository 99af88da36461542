"""Events that are many, or hold what was said: they are made and told only where an observer asks for them.

Their `time` is that of the end, so `time - seconds` is the start. `rollout` joins them: calls of a rollout carry the
name that its end has. `replayed` is true for what rests on answers of an earlier process of the run alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from skillopt.records.events.base import Event
from skillopt.records.step import TokenCount
from skillopt.records.vocabulary import Stage


@dataclass(frozen=True, kw_only=True)
class RolloutEnd(Event):
    """One item was attempted once (only told to who asks). `error` is set when it could not be measured; it is then
    attempted once more. `passed` says whether `hard` reached what the environment calls solved; `reason` is the
    scorer's, and may quote the answer."""

    name: ClassVar[str] = "rollout.end"
    stage: Stage
    item: str
    repeat: int = 0
    step: int | None = None
    rollout: str = ""
    skill_hash: str = ""
    hard: float | None = None
    soft: float | None = None
    passed: bool | None = None
    reason: str = ""
    error: str = ""
    seconds: float = 0.0
    tokens: TokenCount = field(default_factory=TokenCount)


@dataclass(frozen=True, kw_only=True)
class CallEnd(Event):
    """One call was answered, from the model or from the journal (only told to who asks); `kind` agent is a whole run of
    an agent program. `seconds` are those of the call when it was made, None when that is not known. What was asked
    ahead of a verdict and never needed stands in the ledger only."""

    name: ClassVar[str] = "call.end"
    role: str
    kind: Literal["chat", "agent"] = "chat"
    model: str = ""
    answered_by: str = ""
    """The model name that the provider reported."""
    endpoint: str = ""
    """Which of several endpoints answered; blank where the role has one."""
    finish: str = ""
    stage: str = ""
    rollout: str = ""
    recorded: bool = False
    seconds: float | None = None
    tokens: TokenCount = field(default_factory=TokenCount)
    cached_tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message of a call as text."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class CallContent(Event):
    """What was said in a call, told right before its `call.end` (only told to who asks); secrets are taken out."""

    name: ClassVar[str] = "call.content"
    role: str
    rollout: str = ""
    asked: tuple[Said, ...] = ()
    answer: str = ""
