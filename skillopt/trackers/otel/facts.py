"""What spans and log events say: attributes out of events, without any of the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.records.events import CallContent, CallEnd, RoleInfo, RolloutEnd, RunStart, Said
from skillopt.trackers.otel import names

Facts = dict[str, Any]


@dataclass(frozen=True)
class Roles:
    """Who the roles of a run are."""

    by_name: Mapping[str, RoleInfo] = field(default_factory=dict[str, RoleInfo])

    @classmethod
    def of(cls, event: RunStart) -> Roles:
        """From the start of a run."""
        return cls({role.role: role for role in event.roles})

    def facts(self, role: str, model: str = "") -> Facts:
        """Provider and model of a role."""
        info = self.by_name.get(role, RoleInfo(role=role))
        provider = names.provider_of(info.backend, info.endpoint) or "unknown"
        return {names.PROVIDER: provider, names.REQUEST_MODEL: model or info.model}

    def backend(self, role: str) -> str:
        """A role's backend."""
        return self.by_name[role].backend if role in self.by_name else role


@dataclass(frozen=True)
class Asked:
    """A call, and what was said in it where that may be sent."""

    end: CallEnd
    said: CallContent | None = None


def run_facts(event: RunStart, roles: Roles) -> Facts:
    """The whole run."""
    return {
        **roles.facts("target"),
        "skillopt.run_id": event.run_id,
        "skillopt.kind": event.kind,
        "skillopt.env": event.env,
        "skillopt.gate_rule": event.gate_rule,
        "skillopt.total_steps": event.total_steps,
    }


def frame_facts(frame: str, **where: str | int | None) -> Facts:
    """A step or a stage."""
    return {
        "skillopt.frame": frame,
        **{f"skillopt.{name}": value for name, value in where.items() if value is not None},
    }


def rollout_facts(event: RolloutEnd, roles: Roles) -> Facts:
    """One attempt at one item, with the tokens of all its calls."""
    facts: Facts = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT: roles.backend("target"),
        **roles.facts("target"),
        "skillopt.stage": event.stage.value,
        "skillopt.item": event.item,
        "skillopt.repeat": event.repeat,
        "skillopt.skill": event.skill_hash,
    }
    if event.step is not None:
        facts["skillopt.step"] = event.step
    return facts | _usage(event.tokens.prompt_tokens, event.tokens.completion_tokens)


def call_facts(asked: Asked, roles: Roles) -> Facts:
    """One call, with its content where that may be sent."""
    end, said = asked.end, asked.said
    facts: Facts = {
        names.OPERATION: names.CHAT,
        **roles.facts(end.role, end.model),
        "skillopt.role": end.role,
        "skillopt.stage": str.__str__(end.stage),  # exporters print a member of an enumeration as its name
        **_usage(end.tokens.prompt_tokens, end.tokens.completion_tokens),
    }
    if end.answered_by:
        facts[names.RESPONSE_MODEL] = end.answered_by
    if end.finish:
        facts[names.FINISH_REASONS] = [end.finish]
    if end.cached_tokens is not None:
        facts[names.CACHED_TOKENS] = end.cached_tokens
    if end.usd is not None:
        facts["skillopt.usd"] = end.usd
    if said is not None:
        facts[names.INPUT_MESSAGES] = json.dumps([_message(m) for m in said.asked], ensure_ascii=False)
        answer = {**_message(Said(role="assistant", text=said.answer)), "finish_reason": end.finish or "stop"}
        facts[names.OUTPUT_MESSAGES] = json.dumps([answer], ensure_ascii=False)
    return facts


def evaluations(event: RolloutEnd, *, quote: bool) -> Iterator[Facts]:
    """What a rollout scored, an event for each score. The scorer's words may quote the answer: they stand there only
    where content may be sent, and figures otherwise."""
    for name, value in (("hard", event.hard), ("soft", event.soft)):
        if value is None:
            continue
        figures = f"hard {event.hard:g}, soft {event.soft:g}" if event.soft is not None else f"hard {event.hard:g}"
        facts: Facts = {
            names.EVALUATION_NAME: f"skillopt.{name}",
            names.EVALUATION_VALUE: value,
            names.EVALUATION_EXPLANATION: (event.reason if quote else "") or figures,
        }
        if name == "hard" and event.passed is not None:
            facts[names.EVALUATION_LABEL] = "pass" if event.passed else "fail"
        yield facts


def _message(said: Said) -> dict[str, object]:
    """A message in the conventions' JSON form."""
    return {"role": said.role, "parts": [{"type": "text", "content": said.text}]}


def _usage(prompt: int | None, completion: int | None) -> Facts:
    facts = {names.INPUT_TOKENS: prompt, names.OUTPUT_TOKENS: completion}
    return {name: value for name, value in facts.items() if value is not None}
