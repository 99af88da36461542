"""One proof, at the end, against the initial skill: training items climb, the selection split is looked at once.

A candidate that passes its trial on training items becomes the draft; nothing but the baseline asks the selection
split. At the end of the run the draft is pruned once and takes one look, a paired test against the initial skill, on
items that no choice of the run has touched. The first ending's look takes four fifths of `evaluation.gate_alpha`, and
every ending of an extended run half of what is left (`gate.alpha`). So a run without any true gain ships something with
that chance at most, however many candidates it tried and however often it was extended. What is not proven stays beside
the result as `draft_skill.md`.

Use it for your own tasks, at every size of data; `strict` repeats published runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt.config import Config
from skillopt.config.derived import Sizes, credit_calls, most_edits, steps_per_epoch, trial_items
from skillopt.core.errors import BudgetExceeded, StopRun
from skillopt.core.streams import named, shuffled
from skillopt.engine.acceptance import draft_review
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.climb import climb
from skillopt.engine.acceptance.compare import draws, in_file_order, in_gate_order
from skillopt.engine.acceptance.ending import Ending, ending_of, last_proof, remember, saw_nothing
from skillopt.engine.acceptance.prune import Pruned, prune
from skillopt.engine.acceptance.rule import EARLY_STOP_SHARE, GateCalls, Promise, unchanged
from skillopt.engine.charging import all_charged, answered
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.measure import measure, stream_decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import item_cost
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.state import TrainState
from skillopt.engine.test_reserve import kept_words
from skillopt.gate.alpha import AlphaLedger, level_of
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import NOISE, least_items, never_passes, points_of, smallest_gain
from skillopt.gate.verdict import Evidence, Verdict
from skillopt.records.events import Notice
from skillopt.records.vocabulary import Stage

REVIEW_EVERY = 20
"""Steps between two reviews of the draft; at the end of an epoch. Measured in benchmarks/LOG.md."""
PRUNE_TRIALS = 4
"""Most that pruning at the end may ask, in trials; the last of them is for what is left out together."""
PRUNE_SHARE = 0.15
"""Most of a cap that is kept for pruning: a run that can pay for little is better spent on training."""


@dataclass(frozen=True)
class ProofRule:
    """The best skill is the initial one until the end of the run proves a better one."""

    config: Config

    def opened(self, baseline: Measured, context: RunContext) -> TrainState:
        """The baseline, and what an earlier ending of this run proved."""
        return TrainState(initial=baseline, current=baseline, best=baseline, earlier=last_proof(context))

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Try a candidate on training items; what passes is the draft. A forced one is the draft without a trial."""
        if candidate.skill == state.current.skill:
            return unchanged(candidate, state)
        if candidate.forced:
            total = len(context.selection) * self.config.evaluation.repeats
            verdict = Verdict("force_accept", None, Evidence(total=total), "kept as a draft without a trial")
            edits = (*state.draft_edits, *candidate.edits)
            return Decision(
                candidate.skill, candidate.origin, candidate.step, verdict, draft=candidate.skill, edits=edits
            )
        return await climb(candidate, state, context, luck=state.luck)

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """Whether the draft is clearly worse than the initial skill: a tie drops nothing. Every twenty steps only: each
        review may drop a good draft by bad luck, and what sinks costs power at the end, nothing else."""
        train = self.config.train
        per_epoch = steps_per_epoch(len(context.splits.train), train.batch_size, train.accumulation)
        if not state.is_draft or step // REVIEW_EVERY == (step - per_epoch) // REVIEW_EVERY:
            return None
        return await draft_review.review(context, state, epoch=epoch, step=step, clearly=True)

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """Prune the draft and prove it. None where there is no draft: then nothing was looked at."""
        if not state.is_draft:
            return None
        draft = state.current.skill
        pruned = await self._pruned(state, context)
        found = await prove(Candidate(pruned.skill, state.current_origin, state.last_step), state, context)
        return replace(
            found,
            skill=draft,
            trials=(pruned.trial,) if pruned.trial else (),
            edits=pruned.edits,
            removed=pruned.removed,
            extra=pruned.rollouts,
        )

    async def _pruned(self, state: TrainState, context: RunContext) -> Pruned:
        """The draft without what clearly harms it. What the look needs is out of its reach; where calls run short, the
        draft is looked at as it is."""
        seed, draft = self.config.train.seed, state.current.skill
        known = shuffled(list(state.trained_on().values()), named(seed, "prune", state.last_step))
        trial = max(1, int(self._pruning(state, context).calls) // PRUNE_TRIALS)
        with context.budget.keeping(cost_of_look(state, context), kept_words(context, look=True)):
            try:
                return await prune(
                    context, state.best.skill, draft, state.draft_edits, known[:trial],
                    step=state.last_step, budget=(PRUNE_TRIALS - 1) * trial, clearly=True,
                )  # fmt: skip
            except BudgetExceeded as error:
                context.emit(Notice(text=f"the draft was not pruned: {error}"))
                return Pruned(draft, state.draft_edits)

    def calls(self, sizes: Sizes) -> GateCalls:
        """Nothing of the selection split but the look."""
        n = sizes.selection * self.config.evaluation.repeats
        early = EARLY_STOP_SHARE if self.config.evaluation.gate_early_stop else 1.0
        trial = min(sizes.train, trial_items(self.config, sizes.selection))
        credit = credit_calls(self.config, most_edits(self.config), sizes.selection, sizes.train)
        pruning, cap = PRUNE_TRIALS * trial, self.config.budget.max_calls
        if cap is not None:
            pruning = min(pruning, int(PRUNE_SHARE * cap))
        return GateCalls(
            gate=(0, 0),
            other_gate=0,
            trial=(math.ceil(trial * early), credit + trial),
            other_trial=trial,
            review=(0, 2 * trial),
            last=(0, n + pruning),
        )

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """Pruning and the look."""
        return cost_of_look(state, context).plus(self._pruning(state, context))

    def _pruning(self, state: TrainState, context: RunContext) -> Spend:
        """Most that pruning may take: some trials, and no more than a share of any cap."""
        trial = min(len(context.splits.train), trial_items(self.config, len(context.selection)))
        cost, limits = item_cost(context, state.initial.rollouts).times(PRUNE_TRIALS * trial), context.budget.limits
        caps = ((limits.calls, cost.calls), (limits.tokens, cost.tokens), (limits.usd, cost.usd))
        share = min([1.0, *(PRUNE_SHARE * cap / most for cap, most in caps if cap is not None and most)])
        return replace(cost.times(share), calls=int(share * cost.calls))

    def promise(self, items: int, steps: int) -> Promise:
        """The error that is held, and the smallest gain that the look proves; what is missing where it can prove
        none. The run starts all the same, and ends with its best draft."""
        del steps
        alpha, total = level_of(self.config.evaluation.gate_alpha, 1), self.config.evaluation.gate_alpha
        if never_passes(items, alpha):
            return Promise(
                notes=(
                    f"proof: nothing can be proven on {items} selection items: won every one, they do not reach "
                    f"level {alpha:g} (evaluation.gate_alpha={total:g}); {least_items(alpha)} is the least. The run "
                    "ends with the initial skill and its best draft beside it, unproven",
                )
            )
        gain = smallest_gain(items, NOISE, alpha=alpha)
        shown = "no gain" if gain is None else f"gains of {points_of(gain)} points or more"
        notes = [
            f"proof: a run without any true gain ships something with chance {100 * total:g} % at most, extended or "
            f"not; with {100 * NOISE:.0f} % noise its look at level {alpha:g} proves {shown} (80 % power); skillopt "
            "selftest measures the noise"
        ]
        if gain is not None and self.config.evaluation.gate_min_effect > gain:
            notes.append(
                f"evaluation.gate_min_effect={self.config.evaluation.gate_min_effect:g} asks for more than can be "
                "detected"
            )
        return Promise(tuple(notes))


def cost_of_look(state: TrainState, context: RunContext) -> Spend:
    """What the one look needs, by what the initial skill's items cost."""
    n = len(context.selection) * context.config.evaluation.repeats
    return item_cost(context, state.initial.rollouts).times(n)


async def prove(candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
    """The one look: a text against the initial skill on the selection split. Any search may end with it.

    The look is an effect of the run (`ending`). Raises `StopRun`; the price is paid then, and the same text is looked
    at at the same price when the run is started again. A run that is to end before its first item is asked has not
    looked, and pays nothing.
    """
    context.budget.heed()
    ending = ending_of(context, candidate.skill)
    if ending.number > 1:
        context.emit(Notice(text=_says(ending)))
    decision = await _look(candidate, state, context, ending)
    remember(context, ending, decision)
    return decision


async def _look(candidate: Candidate, state: TrainState, context: RunContext, ending: Ending) -> Decision:
    evaluation = context.config.evaluation
    order = in_gate_order(context, state, state.initial)
    terms = Terms(
        alpha=ending.alpha,
        min_effect=evaluation.gate_min_effect,
        futility=0.0,  # there is no other look: a stop on suspicion would only lose power
        max_losses=evaluation.gate_max_regressions,
        coverage_floor=evaluation.coverage_floor,
    )
    gates: list[PairedGate] = []

    def fresh() -> PairedGate:
        gates.append(PairedGate(order, terms, early=evaluation.gate_early_stop))
        return gates[-1]

    try:
        rollouts, gate = await stream_decision(
            context, candidate.skill, draws(context, order), fresh, stage=Stage.GATE, step=candidate.step,
            without=answered(state.initial.rollouts),
        )  # fmt: skip
    except StopRun:
        if not any(gate.seen for gate in gates):
            saw_nothing(context, ending)
        raise
    verdict, asked = gate.verdict(), in_file_order(order, rollouts)
    if ending.number > 1:
        verdict = replace(verdict, reason=f"{verdict.reason}; {_says(ending)}")
    decision = Decision(
        candidate.skill, candidate.origin, candidate.step, verdict, asked, draft=candidate.skill,
        ledger=AlphaLedger(evaluation.gate_alpha, ending.left, ending.number),
    )  # fmt: skip
    if not verdict.accepted:
        return decision
    measured = await shown_whole(context, candidate, state)
    return replace(
        decision, rollouts=measured.rollouts, measured=measured, promoted=True,
        verdict=replace(verdict, score=measured.gate_score),
    )  # fmt: skip


async def shown_whole(context: RunContext, candidate: Candidate, state: TrainState) -> Measured:
    """A proven text on the whole selection split: what the look did not need to ask is asked now."""
    repeats = context.config.evaluation.repeats
    rollouts = await measure(
        context, candidate.skill, context.selection, stage=Stage.GATE, step=candidate.step, repeats=repeats
    )
    return Measured(candidate.skill, tuple(all_charged(rollouts, state.initial.rollouts)), context.metric)


def _says(ending: Ending) -> str:
    return (
        f"ending {ending.number} of this run: level {ending.alpha:g}, {ending.spent:g} of {ending.total:g} spent over "
        "all endings"
    )
