"""One item attempted once by the target with one skill: outcome plus trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import Outcome, Scored


@dataclass(frozen=True)
class Rollout:
    """The value that every stage after the first one reads.

    `skill_hash` is the identity of exactly the bytes the target saw (invariant I1). `trajectory` is the content of
    `conversation.json`. `tokens` counts the calls this rollout rests on: calls, prompt_tokens, completion_tokens,
    cached_tokens (None where the provider reported nothing), and the same under
    `judge_…` where a judge was asked. `agent` is what an agent CLI or a tool loop recorded
    besides (harness, version, exit reason, denials, whether the skill was read); empty for a chat.
    """

    item: Item
    skill_hash: str
    outcome: Outcome
    repeat: int = 0
    trajectory: tuple[JsonObject, ...] = ()
    tokens: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    system_prompt: str = ""
    user_prompt: str = ""
    agent: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def scored(self) -> Scored | None:
        """The outcome when it was measured, else None."""
        return self.outcome if isinstance(self.outcome, Scored) else None
