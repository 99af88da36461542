"""Rollouts and calls, told to the observers that ask for them.

A rollout gets a name when it begins, its calls carry it, and its end has it, so that who watches can put them together.
What rests on answers of an earlier process of the run alone is told as `replayed`. Work ahead of a verdict asks first
and the step that needs it asks again, for free: such a rollout is told once, when it was made.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from skillopt.agents.base import text_of
from skillopt.core.json_types import as_object, as_text
from skillopt.core.outcome import Missing
from skillopt.core.rollout import Rollout
from skillopt.engine.run.telling.events import Events
from skillopt.model.client import Answered
from skillopt.model.types import Message
from skillopt.records.events import ON_REQUEST, CallContent, CallEnd, RolloutEnd, Said
from skillopt.records.step import TokenCount
from skillopt.records.vocabulary import Stage


@dataclass
class _Begun:
    """What is known of a rollout that has not ended."""

    calls: int = 0
    made: int = 0
    """Calls that were made, by this process, for this rollout."""
    earlier: int = 0
    """Calls that an earlier process had made."""


class Rollouts:
    """One run's. `known` is the journal's last entry before this process: what stands up to it was told by another."""

    def __init__(self, emit: Events, known: int = 0) -> None:
        self._emit, self._known = emit, known
        self._begun: dict[str, _Begun] = {}
        self._numbers = itertools.count(1)
        self._told: set[tuple[object, ...]] = set()

    @property
    def wanted(self) -> bool:
        """Whether anybody asks for any of it."""
        return any(self._emit.wants(name) for name in ON_REQUEST)

    def called(self, answered: Answered) -> None:
        """A call was answered."""
        if not self.wanted:
            return
        entry = answered.entry
        earlier = not entry.fresh and not entry.shared and entry.seq <= self._known
        begun = self._begun.get(answered.rollout)
        if begun is not None:
            begun.calls += 1
            begun.made += entry.fresh
            begun.earlier += earlier
        value = as_object(entry.value)
        if self._emit.wants(CallContent.name):
            self._emit(
                CallContent(
                    role=entry.role, rollout=answered.rollout, asked=tuple(map(_said, answered.messages)),
                    answer=as_text(value.get("text")), replayed=earlier,
                )
            )  # fmt: skip
        self._emit(
            CallEnd(
                role=entry.role, kind="agent" if entry.kind == "agent" else "chat", model=entry.model,
                answered_by=as_text(value.get("model")), endpoint=as_text(value.get("endpoint")),
                finish=as_text(value.get("finish")), stage=entry.stage,
                rollout=answered.rollout, recorded=not entry.fresh, seconds=entry.elapsed_s, usd=entry.usd,
                tokens=TokenCount(entry.calls, entry.prompt_tokens, entry.completion_tokens),
                cached_tokens=entry.cached_tokens, replayed=earlier,
            )
        )  # fmt: skip

    def watch(self, stage: Stage, step: int | None, threshold: float) -> RolloutWatch | None:
        """Who hears of the rollouts of a batch; None where nobody asks. `threshold` is what counts as solved."""
        return RolloutWatch(self, stage, step, threshold) if self.wanted else None

    def begin(self) -> str:
        """A name for a rollout."""
        name = f"rollout-{next(self._numbers)}"
        self._begun[name] = _Begun()
        return name

    def end(self, name: str, event: RolloutEnd | None) -> None:
        """Tell what came of it; None when it was given up."""
        begun = self._begun.pop(name, _Begun())
        if event is None:
            return
        same = (event.stage, event.step, event.item, event.repeat, event.skill_hash)
        if same in self._told and not begun.made and not event.error:
            return
        if not event.error:
            self._told.add(same)
        earlier = begun.calls > 0 and begun.earlier == begun.calls
        self._emit(replace(event, replayed=earlier))


@dataclass(frozen=True)
class RolloutWatch:
    """Hears of the rollouts of one batch (`envs.rollout.Watch`)."""

    rollouts: Rollouts
    stage: Stage
    step: int | None
    threshold: float

    def begun(self) -> str:
        """The name that the calls of a rollout will carry."""
        return self.rollouts.begin()

    def ended(self, name: str, rollout: Rollout | None, seconds: float) -> None:
        """The rollout is over; None when a stop or an error ended it."""
        self.rollouts.end(name, None if rollout is None else self._event(name, rollout, seconds))

    def _event(self, name: str, rollout: Rollout, seconds: float) -> RolloutEnd:
        scored, tokens = rollout.scored, rollout.tokens
        return RolloutEnd(
            stage=self.stage,
            item=rollout.item.id,
            repeat=rollout.repeat,
            step=self.step,
            rollout=name,
            skill_hash=rollout.skill_hash,
            hard=scored.hard if scored else None,
            soft=scored.soft if scored else None,
            passed=scored.hard >= self.threshold if scored else None,
            reason=scored.fail_reason if scored else "",
            error=rollout.outcome.error if isinstance(rollout.outcome, Missing) else "",
            seconds=seconds,
            tokens=TokenCount(tokens.get("calls") or 0, tokens.get("prompt_tokens"), tokens.get("completion_tokens")),
        )


def _said(message: Message) -> Said:
    called = [f"{call.name} {call.arguments}" for call in message.tool_calls]
    return Said(role=message.role, text="\n".join([text_of(message), *called]) if called else text_of(message))
