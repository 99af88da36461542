"""A model that answers from a function and remembers what it was asked; a toy environment; ready-made rollouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from skillopt.core.item import Item
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.envs.base import Sampling, Splits
from skillopt.model.types import ChatReply, ChatRequest, Message, Usage
from skillopt.optimizer.context import OptimizerSettings, StageContext, Tally
from skillopt.optimizer.prompting import PromptBook


@dataclass
class Recorder:
    """A `ChatModel`: `answer(request)` gives a JSON value, a text, a reply, or an exception to raise."""

    answer: Callable[[ChatRequest], object]
    asked: list[ChatRequest] = field(default_factory=list)
    model: str = "recorder"

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return ChatReply(text, usage=Usage(prompt_tokens=10, completion_tokens=5))

    def texts(self, stage: str) -> list[str]:
        return ["\n".join(str(m.content) for m in r.messages) for r in self.asked if r.stage == stage]


class ToyEnv:
    name, version, pass_threshold = "toy", "1", 1.0
    sampling = Sampling()

    def load(self) -> Splits:
        return Splits((), (), ())

    def messages(self, item: Item, skill_text: str) -> tuple[Message, ...]:
        skill = f"\n\n## Skill\n{skill_text}" if skill_text.strip() else ""
        return (Message("system", "Answer briefly." + skill), Message("user", item.data["q"]))

    def next_turn(self, item: Item, turns: object) -> None:
        return None

    def score(self, item: Item, text: str) -> Scored:
        hard = float(text == item.data["a"])
        return Scored(hard, hard, predicted=text)

    def task_text(self, item: Item) -> str:
        return str(item.data["q"])

    def golds(self, item: Item) -> tuple[str, ...]:
        return (str(item.data["a"]),)

    def prompt(self, name: str) -> str | None:
        return "Taxonomy: toy_miss." if name == "analyst_error" else None


SKILL = Skill("# Toy\n\nBe brief.\n")


def rollout(name: str, hard: float | None, reason: str = "") -> Rollout:
    item = Item(name, {"q": f"question of {name}", "a": f"gold-{name}"})
    outcome = Missing("503") if hard is None else Scored(hard, hard, fail_reason=reason, predicted=f"said-{name}")
    trajectory = ({"type": "message", "turn": 1, "content": f"said-{name}"},)
    return Rollout(item, SKILL.hash, outcome, trajectory=trajectory)


@pytest.fixture
def context():
    def make(answer: Callable[[ChatRequest], object], **settings: object) -> tuple[StageContext, Recorder]:
        model = Recorder(answer)
        env = ToyEnv()
        return StageContext(model, OptimizerSettings(**settings), PromptBook(env.prompt), Tally()), model

    return make
