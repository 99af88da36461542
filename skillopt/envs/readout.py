"""Asking the target a diagnostic question beside its task: an environment that adds one to the first user turn.

Everything else is the wrapped environment's: items, turns, scorer, prompts. The request changes, so its answer is no
other request's answer in the journal, and a score made this way belongs to no skill: it is evidence for analysts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome
from skillopt.envs.base import (
    Attempt,
    Env,
    Sampling,
    ScoreContext,
    Splits,
    Turn,
    hidden_reference,
    needs_workspace,
    reads_workspace,
)
from skillopt.envs.judged import judge_calls, judge_texts, needs_judge
from skillopt.envs.scoring import KeepsScores, score_attempt
from skillopt.model.types import Message

HEADING = "Training Readout"


@dataclass(frozen=True)
class WithReadout:
    """`inner` with `probe` under a heading at the end of the first user message."""

    inner: Env
    probe: str

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def version(self) -> str:
        return self.inner.version

    @property
    def sampling(self) -> Sampling:
        return self.inner.sampling

    @property
    def pass_threshold(self) -> float:
        return self.inner.pass_threshold

    def load(self) -> Splits:
        return self.inner.load()

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        messages = list(self.inner.messages(item, skill_text))
        first = next((n for n, message in enumerate(messages) if message.role == "user"), None)
        text = f"## {HEADING}\n\n{self.probe.strip()}"
        if first is None:
            return (*messages, Message("user", text))
        content = messages[first].content
        if isinstance(content, str):
            messages[first] = replace(messages[first], content=f"{content.rstrip()}\n\n{text}\n")
        else:
            messages[first] = replace(messages[first], content=(*content, {"type": "text", "text": text}))
        return tuple(messages)

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None:
        return self.inner.next_turn(item, turns)

    @property
    def reads_workspace(self) -> bool:
        return reads_workspace(self.inner)

    @property
    def needs_workspace(self) -> bool:
        return needs_workspace(self.inner)

    @property
    def needs_judge(self) -> bool:
        return needs_judge(self.inner)

    @property
    def judge_calls(self) -> int:
        return judge_calls(self.inner)

    def judge_texts(self) -> Sequence[str]:
        return judge_texts(self.inner)

    def score_rests_on(self, item: Item, attempt: Attempt) -> JsonValue:
        return self.inner.score_rests_on(item, attempt) if offers(self.inner, KeepsScores) else None

    async def score(self, item: Item, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        return await score_attempt(self.inner, item, attempt, replace(ctx, scoring=replace(ctx.scoring, journal=None)))

    def task_text(self, item: Item) -> str:
        return self.inner.task_text(item)

    def golds(self, item: Item) -> tuple[str, ...]:
        return self.inner.golds(item)

    def prompt(self, name: str) -> str | None:
        return self.inner.prompt(name)

    def hidden_reference(self, item: Item) -> str | None:
        return hidden_reference(self.inner, item) or None
