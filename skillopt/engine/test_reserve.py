"""What the end of a run will need, kept out of the reach of training, so that a capped run still ends with its report.

A budget admits a call only when the most it can use still fits, so the last test call needs room for a whole
completion, however short answers are. Time is set aside alike; where it was judged too short, the end of a run may take
as much again. Computed again at each step, because the skill that is tested grows.
"""

from __future__ import annotations

import math

from skillopt.core.editing.regions import without_empty_regions
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import item_cost, largest_call
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.state import TrainState

MARGIN = 1.15
"""Test items may need somewhat more tokens than selection items."""
TIME_MARGIN = 1.5
"""A provider has slow hours. The last calls of a stage leave places empty: the time of two calls comes on top."""


def set_aside_for_end(rule: AcceptanceRule, context: RunContext, state: TrainState) -> None:
    """Set aside what the rule needs to finish and what the sealed test costs."""
    last = rule.reserve(state, context)
    if _capped(context) and (context.config.evaluation.eval_test or last.calls):
        context.budget.set_aside(_need(context, state, last), kept_words(context, look=bool(last.calls)))


def open_the_end(rule: AcceptanceRule, context: RunContext, state: TrainState) -> None:
    """Keep the sealed test's share while the rule finishes, and let the end take the time it needs."""
    last = rule.reserve(state, context)
    context.budget.set_aside(need_of_test(context, state), kept_words(context, look=False))
    context.budget.grace_h = _need(context, state, last).hours if _capped(context) else 0.0


def kept_words(context: RunContext, *, look: bool) -> str:
    """What is kept out of reach, as the message of a reached budget says it."""
    parts = ["the last look at the draft"] if look else []
    parts += ["the sealed test"] if context.config.evaluation.eval_test else []
    return " and ".join(parts) or "the end of the run"


def _capped(context: RunContext) -> bool:
    limits = context.budget.limits
    return limits.any_spend or limits.hours is not None


def need_of_test(context: RunContext, state: TrainState) -> Spend:
    """What stays out of reach while the rule finishes."""
    return _need(context, state, Spend()) if context.config.evaluation.eval_test else Spend()


def _need(context: RunContext, state: TrainState, last: Spend) -> Spend:
    """What measuring the initial, best and current skill on the test split costs, judged by what they cost on the
    selection split, one call's reservation, and `last`."""
    # By what the target reads: an empty region asks nothing new of it.
    texts = {without_empty_regions(m.skill.text): m for m in (state.initial, state.best, state.current)}
    measured = [m.rollouts for m in texts.values() if m.rollouts]
    if len(measured) == 1:
        measured *= 2  # the best skill that is still to come, to be tested beside the initial one
    n = len(context.test) if context.config.evaluation.eval_test else 0
    costs = [item_cost(context, rollouts) for rollouts in measured]
    if context.before_test is not None and len(costs) > 1:
        costs = costs[1:]  # the initial skill's part is asked once for several runs, and paid there
    largest = largest_call(context, [r for rollouts in measured for r in rollouts])
    return Spend(
        n * len(costs) + last.calls,
        math.ceil(MARGIN * (n * sum(c.tokens for c in costs) + last.tokens)) + largest.tokens,
        MARGIN * (n * sum(c.usd for c in costs) + last.usd) + largest.usd,
        TIME_MARGIN * (n * sum(c.hours for c in costs) + last.hours) + 2 * costs[0].hours * context.config.env.workers,
    )
