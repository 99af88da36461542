"""What one call takes: tokens and seconds by stage, from real prompts, or from what earlier calls of the run used.

Where nothing was observed the figures are ranges wide enough for the usual providers; they are forecasts, and the plan
labels them so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from skillopt.config import Config
from skillopt.config.backends import AGENTS
from skillopt.core.editing.regions import without_empty_regions
from skillopt.core.skill import Skill
from skillopt.envs.base import Env, Splits
from skillopt.envs.judged import judge_texts
from skillopt.forecast.range import Range, spread
from skillopt.forecast.workload import StageCalls, Workload
from skillopt.model.tokens import expected
from skillopt.optimizer.modes import update_mode
from skillopt.records.vocabulary import Stage

_SAMPLE = 5
_PROMPT_FRAME = {
    Stage.ANALYST: 1_000,
    Stage.MERGE: 1_200,
    Stage.RANKING: 800,
    Stage.LR_AUTONOMOUS: 800,
    Stage.REWRITE: 1_200,
    Stage.SLOW_UPDATE: 1_000,
    Stage.META_SKILL: 900,
    Stage.META_REFLECT: 1_200,
    Stage.DEEP_PROBE: 700,
    Stage.APPENDIX_CONSOLIDATE: 500,
}
_REPLY = {
    Stage.ANALYST: Range(100, 1_500),
    Stage.MERGE: Range(150, 2_000),
    Stage.RANKING: Range(30, 300),
    Stage.LR_AUTONOMOUS: Range(60, 400),
    Stage.REWRITE: Range(100, 500),
    Stage.SLOW_UPDATE: Range(80, 900),
    Stage.META_SKILL: Range(80, 900),
    Stage.META_REFLECT: Range(100, 1_500),
    Stage.DEEP_PROBE: Range(60, 300),
    Stage.APPENDIX_CONSOLIDATE: Range(100, 900),
}
_COMPARING = (Stage.SLOW_UPDATE, Stage.META_SKILL)
"""Stages that are shown two skills, and two attempts at each item."""
_ANSWER = Range(10, 400)
_JUDGE_FRAME = 300
_VERDICT = Range(20, 400)
_AGENT_PROMPT, _AGENT_REPLY = Range(4_000, 150_000), Range(30, 6_000)
"""One run of an agent CLI, all its calls: its own instructions go out with each (10 to 25 thousand tokens)."""
_EDIT_TOKENS = 60
_GROWTH_CAP = 2_000
_OBSERVED_SPREAD = Range(0.8, 1.25, 1.0)
# Seconds of one call where nothing was observed: (fixed, per prompt token, per completion token), fast and slow.
_SPEED = {
    "local": ((0.2, 1 / 400, 1 / 20), (0.5, 1 / 30, 1 / 9)),
    "scripted": ((0.0, 0.0, 0.0), (0.001, 0.0, 0.0)),
    "agent": ((2.0, 0.0, 1 / 150), (20.0, 1 / 5_000, 1 / 30)),
    "": ((0.3, 0.0, 1 / 150), (2.0, 1 / 5_000, 1 / 30)),
}


class LedgerLine(Protocol):
    """What the plan reads of a journal's ledger."""

    @property
    def role(self) -> str: ...
    @property
    def stage(self) -> str: ...
    @property
    def calls(self) -> int: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def unknown_usage(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...


@dataclass(frozen=True)
class PerCall:
    """One call of a stage on average. `seconds` is None when no clock was read."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float | None


def observed_calls(ledger: Iterable[LedgerLine]) -> dict[tuple[str, str], PerCall]:
    """Averages by (role, stage) of what a journal's calls used; stages without known usage are left out."""
    found: dict[tuple[str, str], PerCall] = {}
    for row in ledger:
        known = row.calls - row.unknown_usage
        if known > 0:
            seconds = row.elapsed_s / row.calls if row.elapsed_s else None
            found[row.role, row.stage] = PerCall(row.prompt_tokens / known, row.completion_tokens / known, seconds)
    return found


class Estimate:
    """Tokens and seconds of one call, by stage."""

    def __init__(
        self,
        config: Config,
        env: Env,
        splits: Splits,
        initial: Skill,
        work: Workload,
        observed: Mapping[tuple[str, str], PerCall],
    ) -> None:
        self.observed = observed
        sample = [*splits.train[:_SAMPLE], *splits.selection[:_SAMPLE]]
        read = without_empty_regions(initial.text)
        rendered = [sum(expected(str(m.content)) for m in env.messages(item, read)) for item in sample]
        growth = min(work.total_steps * config.optimizer.learning_rate * _EDIT_TOKENS, _GROWTH_CAP)
        self._target = Range(min(rendered, default=0), max(rendered, default=0) + growth)
        self._skill = Range(expected(initial.text), expected(initial.text) + growth)
        self._task = max((expected(env.task_text(item)) for item in sample), default=0)
        told = expected(max(judge_texts(env), key=len, default="")) + _JUDGE_FRAME
        self._judged = Range(told, told + self._task + _ANSWER.high)
        self._turns = config.env.max_turns
        self._answer_cap = config.env.max_completion_tokens
        self._agent = config.model.target_backend in AGENTS
        self._mode = update_mode(config.optimizer.skill_update_mode)
        self._reply_cap = config.optimizer.max_completion_tokens
        self._document_cap = config.model.rewrite_max_completion_tokens
        self._prompt_cap = config.optimizer.prompt_token_budget
        self._pairs = min(config.optimizer.slow_update_samples, max(1, len(splits.train)))
        self._group = min(config.gradient.minibatch_size, config.train.batch_size, max(1, len(splits.train)))

    def known(self, line: StageCalls) -> PerCall | None:
        """What earlier calls of this stage used; any rollout stands for any other."""
        if line.role == "optimizer":
            return self.observed.get((line.role, line.stage))
        if line.role == "judge":  # its calls stand under the stage whose attempts they judge
            return next((found for (role, _), found in self.observed.items() if role == "judge"), None)
        names = (line.stage, Stage.GATE, Stage.ROLLOUT, Stage.BASELINE, Stage.TEST)
        return next((self.observed[line.role, n] for n in names if (line.role, n) in self.observed), None)

    def per_call(self, line: StageCalls) -> tuple[Range, Range]:
        """(prompt tokens, completion tokens) of one call."""
        known = self.known(line)
        if known is not None:
            return _OBSERVED_SPREAD.times(known.prompt_tokens), _OBSERVED_SPREAD.times(known.completion_tokens)
        prompt, completion = self._bounds(line)
        return spread(prompt.low, prompt.high), spread(completion.low, completion.high)

    def _bounds(self, line: StageCalls) -> tuple[Range, Range]:
        """Where nothing was observed."""
        if line.role == "target" and self._agent:
            return self._target + _AGENT_PROMPT, _AGENT_REPLY
        if line.role == "target":
            answer = Range(_ANSWER.low, min(_ANSWER.high, self._answer_cap))
            return self._target, answer
        if line.role == "judge":
            return self._judged, _VERDICT
        frame = _PROMPT_FRAME[line.stage]
        attempts = 2 * self._pairs if line.stage in _COMPARING else self._group if line.stage is Stage.ANALYST else 0
        evidence = attempts * (self._task + _ANSWER.high) if attempts else 1_500
        evidence += self._skill.high if line.stage in _COMPARING else 0
        prompt = Range(frame + self._skill.low, min(frame + self._skill.high + evidence, self._prompt_cap))
        reply, cap = _REPLY[line.stage], self._reply_cap
        if line.stage is Stage.REWRITE or (line.stage in (Stage.ANALYST, Stage.MERGE) and not self._mode.budgeted):
            reply, cap = reply + self._skill, self._document_cap
        return prompt, Range(min(reply.low, cap), min(reply.high, cap))

    def seconds(self, line: StageCalls, backend: str, prompt: Range, completion: Range) -> Range:
        """Model time of one call, without waiting for a place."""
        known = self.known(line)
        if known is not None and known.seconds is not None:
            return _OBSERVED_SPREAD.times(known.seconds)
        fast, slow = _SPEED.get("agent" if backend in AGENTS else backend, _SPEED[""])
        return spread(
            fast[0] + prompt.low * fast[1] + completion.low * fast[2],
            slow[0] + prompt.high * slow[1] + completion.high * slow[2],
        )
