"""What the sealed test will need, kept out of the reach of training, so that a capped run still ends with its report.

A budget admits a call only when the most it can use still fits, so the last test call needs room for a whole
completion, however short answers are. Computed again at each step, because the skill that is tested grows.
"""

from __future__ import annotations

import math

from skillopt.core.regions import without_empty_regions
from skillopt.core.rollout import Rollout
from skillopt.engine.run.budget import Spend
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.model.tokens import bound
from skillopt.model.types import Usage

MARGIN = 1.15
"""Test items may need somewhat more tokens than selection items."""
_FRAMES = 16
"""Tokens of the frames of the system and the user message, as `model.tokens` counts them."""


def set_aside_for_test(context: RunContext, state: TrainState) -> None:
    """Set aside what measuring the initial, best and current skill on the test split costs, judged by what they cost
    on the selection split, and one call's reservation; under the paired rule the last look too."""
    evaluation = context.config.evaluation
    paired = evaluation.gate_rule == "paired" and evaluation.use_gate
    if not (evaluation.eval_test or paired) or not context.budget.limits.any_spend:
        return
    # By what the target reads: an empty region asks nothing new of it.
    texts = {without_empty_regions(m.skill.text): m for m in (state.initial, state.best, state.current)}
    measured = [m.rollouts for m in texts.values() if m.rollouts]
    if len(measured) == 1:
        measured *= 2  # the best skill that is still to come, to be tested beside the initial one
    n = len(context.test) if evaluation.eval_test else 0
    costs = [_mean(context, rollouts) for rollouts in measured]
    # The last look asks the selection split once, and once more when it proves the draft.
    looks = 2 * len(context.selection) * evaluation.repeats if paired else 0
    each = _mean(context, state.best.rollouts)
    last = _largest(context, [r for rollouts in measured for r in rollouts])
    context.budget.set_aside(
        Spend(
            n * len(costs) + looks,
            math.ceil(MARGIN * (n * sum(tokens for tokens, _ in costs) + looks * each[0])) + last.tokens,
            MARGIN * (n * sum(usd for _, usd in costs) + looks * each[1]) + last.usd,
        )
    )


def _mean(context: RunContext, rollouts: tuple[Rollout, ...]) -> tuple[float, float]:
    """Tokens and money of one item. Nothing is known of a provider that reports no usage: its reservations count."""
    known = [r for r in rollouts if r.tokens.get("prompt_tokens") is not None and r.tokens.get("completion_tokens")]
    if not known:
        each = _largest(context, list(rollouts))
        return each.tokens, each.usd
    prompt = sum(r.tokens.get("prompt_tokens") or 0 for r in known) / len(known)
    completion = sum(r.tokens.get("completion_tokens") or 0 for r in known) / len(known)
    usage = Usage(prompt_tokens=math.ceil(prompt), completion_tokens=math.ceil(completion))
    return prompt + completion, context.price("target", context.target.model, usage) or 0.0


def _largest(context: RunContext, rollouts: list[Rollout]) -> Spend:
    """The most that one target call reserves."""
    cap = context.config.env.max_completion_tokens
    limit = getattr(context.target, "completion_limit", None)
    completion = min(cap, limit) if isinstance(limit, int) else cap
    prompt = max((bound(r.system_prompt) + bound(r.user_prompt) + _FRAMES for r in rollouts), default=0)
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
    return Spend(0, prompt + completion, context.price("target", context.target.model, usage) or 0.0)
