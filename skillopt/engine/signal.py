"""Whether there is anything to learn from: the scorer's positive control, and a baseline that is the same everywhere.

A run without a signal is stopped in order before it is spent: a scorer that says the same for everything, and an
initial skill that is already right on every selection item, where no candidate could be shown to be better.
"""

from __future__ import annotations

from skillopt.core.errors import StopRun
from skillopt.core.offers import offers
from skillopt.core.outcome import Missing
from skillopt.core.skill import Skill
from skillopt.engine.measure import measure
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import Measured
from skillopt.envs.base import ListsSkills
from skillopt.envs.checks.control import positive_control
from skillopt.records.events import Notice
from skillopt.records.vocabulary import Stage

_LEAST = 4


class NoSignal(StopRun):
    """Nothing can be learnt from these scores."""


async def literal_invocation(context: RunContext, skill: Skill) -> None:
    """Where it is measured whether a skill is found: one attempt that asks for it by name. Raises `NoSignal` where even
    that does not load it, `StopRun` where it could not be measured."""
    if not offers(context.env, ListsSkills):
        return
    item = context.env.control_item(context.config.model.target_backend)
    (found,) = await measure(context, skill, [item], stage=Stage.PROBE)
    if found.scored is None:
        words = found.outcome.error if isinstance(found.outcome, Missing) else "no outcome"
        raise NoSignal(f"cannot measure triggers: the literal invocation was lost ({words})", hint="see the message")
    if found.scored.hard < 1.0:
        raise NoSignal(
            f"cannot measure triggers: {item.data['query']!r} did not load the skill in {context.target.model}, so a "
            "request that does not name it says nothing",
            hint="look whether this program takes skills in this mode, and whether its records show them",
        )


async def control(context: RunContext) -> None:
    """Put gold answers to the scorer and tell what is odd. Raises `NoSignal` for a scorer that tells nothing apart."""
    await literal_invocation(context, context.initial)
    found = await positive_control(context.env, context.splits.train, context.scoring)
    if found is None:
        return
    for text in found.warnings:
        context.emit(Notice(text=f"warning: {text}"))
    if found.no_signal:
        raise NoSignal(found.no_signal, hint="correct the scorer or the gold answers; skillopt doctor shows examples")


def refuse_constant(context: RunContext, measured: Measured) -> None:
    """Raises `NoSignal` for a baseline from which no candidate could be told apart."""
    scores = {(r.scored.hard, r.scored.soft) for r in measured.rollouts if r.scored is not None}
    count = sum(r.scored is not None for r in measured.rollouts)
    if len(scores) != 1 or count < _LEAST:
        return
    hard, soft = next(iter(scores))
    if (hard, soft) == (1.0, 1.0) and context.config.evaluation.use_gate:
        raise NoSignal(
            f"nothing to gain: with the initial skill all {count} selection answers are right already",
            hint="take harder items, or a scorer that grades",
        )
    if 0.0 < hard < 1.0:
        raise NoSignal(f"no signal: the scorer gave all {count} selection answers hard {hard:g} and soft {soft:g}")
