"""A trial: two skills on the same training items, by the strict rule. It chooses what goes on; it proves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.config.derived import trial_items
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import named, shuffled
from skillopt.engine.charging import answered
from skillopt.engine.decision import Trial
from skillopt.engine.measure import stream_decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.futility import Luck, TrialGate
from skillopt.gate.strict import StrictGate, Unit, failures_first, file_order
from skillopt.records.vocabulary import Stage


async def run_trial(
    context: RunContext,
    candidate: Skill,
    state: TrainState,
    *,
    step: int | None,
    shown: Sequence[Rollout],
    most: int | None = None,
    luck: Luck | None = None,
) -> Trial | None:
    """Candidate against current skill on training items that the current one was rolled out on anyway.

    Items whose trajectories the optimizer has not just seen come first, at most `most` in all. None when nothing is
    known of that skill. With `luck` it stops early when it wins no more than that.
    """
    known = compared_with(context, state, step=step, shown=shown)[:most]
    if not known:
        return None
    shorter = is_shorter(context, candidate, state.current.skill)
    return await try_on(context, candidate, known, state.changed_outcomes, step=step, ties_win=shorter, luck=luck)


async def try_on(
    context: RunContext,
    candidate: Skill,
    known: Sequence[Rollout],
    changed_outcomes: Mapping[str, int],
    *,
    step: int | None,
    ties_win: bool = False,
    luck: Luck | None = None,
) -> Trial:
    """Ask the candidate on the items of `known` rollouts until the strict rule is settled."""
    evaluation, value = context.config.evaluation, context.metric.value
    units = [Unit(n, r.item.id, value(r.outcome), r.item.id) for n, r in enumerate(known)]
    order = (failures_first if evaluation.gate_order == "failures_first" else file_order)(units, changed_outcomes)

    wary = luck is not None and evaluation.gate_order == "failures_first" and evaluation.gate_early_stop

    def fresh() -> TrialGate:
        floor = evaluation.coverage_floor
        gate = StrictGate(
            order, early=evaluation.gate_early_stop, coverage_floor=floor, best_score=None, ties_win=ties_win
        )
        return TrialGate(gate, luck if wary else None)

    places = [(known[u.index].item, 0) for u in order]
    rollouts, decision = await stream_decision(
        context, candidate, places, fresh, stage=Stage.TRIAL, step=step, shown_as=Stage.TRIAL, without=answered(known)
    )
    verdict = decision.verdict()
    return Trial(verdict.accepted, verdict, tuple(rollouts), decision.failing_asked)


def compared_with(
    context: RunContext, state: TrainState, *, step: int | None, shown: Sequence[Rollout]
) -> list[Rollout]:
    """The current skill's rollouts that a trial compares with, at most the configured number."""
    seen = {r.item.id for r in shown}
    known = state.trained_on()
    known.update({r.item.id: r for r in shown if r.scored is not None and r.skill_hash == state.current.skill.hash})
    generator = named(context.config.train.seed, "trial", step or 0)
    unseen = shuffled([r for i, r in known.items() if i not in seen], generator)
    batch = shuffled([r for i, r in known.items() if i in seen], generator)
    return [*unseen, *batch][: default_trial(context)]


def default_trial(context: RunContext) -> int:
    """Training items of one trial."""
    return trial_items(context.config, len(context.selection))


def is_shorter(context: RunContext, candidate: Skill, than: Skill) -> bool:
    """True where a shorter text may be kept for its length: the margin is set and the text is shorter by the share."""
    evaluation = context.config.evaluation
    limit = (1 - evaluation.gate_shorter_by) * len(than.text)
    return evaluation.gate_shorter_margin > 0 and len(candidate.text) <= limit
