"""The paired rule: training items climb, the selection split proves.

A candidate is tried on training items against the current skill (`trial`); what passes becomes the working draft, so
the search goes on from it. The draft is looked at on the selection split only when what it gained on training items
makes a proof likely, and once more at the end of the run; a look is a paired test against the proven (best) skill at a
level that the run's error budget pays for (`gate.alpha`). Trials ask nothing of the selection split and choose among
texts by other data, so no number of them can spoil a look. Verdicts: `accept_new_best` (proven), `draft` (kept, not
proven yet), `reject` (failed its trial, or looked worse: back to the proven skill), `undecided` (not measurable).

A proven skill is measured again on fresh draws before it becomes the bar, so that a lucky draw does not stay one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from skillopt.config import Config
from skillopt.config.derived import Sizes, credit_calls, most_edits, trial_items
from skillopt.engine.acceptance import draft_review
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.climb import climb
from skillopt.engine.acceptance.look import look
from skillopt.engine.acceptance.off import keep_as_measured
from skillopt.engine.acceptance.prune import prune
from skillopt.engine.acceptance.rule import EARLY_STOP_SHARE, GateCalls, Promise, unchanged
from skillopt.engine.acceptance.trial import is_shorter
from skillopt.engine.decision import Decision, Measured, Trial
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import item_cost
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.state import TrainState
from skillopt.gate.alpha import AlphaLedger
from skillopt.gate.power import NOISE, least_items, never_passes, points_of, proof_is_likely, smallest_gain


@dataclass(frozen=True)
class PairedRule:
    """One error budget for all looks at the selection split; a draft between them."""

    config: Config

    def opened(self, baseline: Measured, context: RunContext) -> TrainState:
        """The baseline, and the whole error budget."""
        del context
        ledger = AlphaLedger.opened(self.config.evaluation.gate_alpha)
        return TrainState(initial=baseline, current=baseline, best=baseline, ledger=ledger)

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Try a candidate on training items; look at it on the selection split when a proof is likely.

        Before a look, those edits of the whole draft that harm it are left out.
        """
        if candidate.forced:
            return await keep_as_measured(candidate, state, context, promotes=False)  # only a look makes a best skill
        if candidate.skill == state.current.skill:
            return unchanged(candidate, state)
        kept, step = await climb(candidate, state, context), candidate.step
        if kept.draft is None:
            return kept
        trial, ledger = kept.trials[0], self._ledger(state)
        if not self._worth_a_look(candidate, state, trial, context, ledger.price(last=False)):
            return kept
        pruned = await prune(context, state.best.skill, candidate.skill, kept.edits, trial.rollouts, step=step)
        found = await look(replace(candidate, skill=pruned.skill), state, context, ledger, last=False)
        return replace(
            found,
            skill=candidate.skill,
            trials=(trial, pruned.trial) if pruned.trial else (trial,),
            edits=pruned.edits,
            removed=pruned.removed,
            extra=pruned.rollouts,
        )

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """Whether the draft is still better than the proven skill."""
        return await draft_review.review(context, state, epoch=epoch, step=step) if state.is_draft else None

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """A draft that is not proven yet gets one look, with all that is left of the error budget."""
        if not state.is_draft or not state.history:
            return None
        draft, step = state.current.skill, state.last_step
        known = list(state.trained_on().values())[: len(context.selection)]
        pruned = await prune(context, state.best.skill, draft, state.draft_edits, known, step=step)
        candidate = Candidate(pruned.skill, state.current_origin, step)
        found = await look(candidate, state, context, self._ledger(state), last=True)
        return replace(
            found,
            skill=draft,
            trials=(pruned.trial,) if pruned.trial else (),
            edits=pruned.edits,
            removed=pruned.removed,
            extra=pruned.rollouts,
        )

    def calls(self, sizes: Sizes) -> GateCalls:
        """A look may prune first (every edit since the last proof left out once) and measure what it proved once more;
        a review asks draft and proven skill."""
        n = sizes.selection * self.config.evaluation.repeats
        early = EARLY_STOP_SHARE if self.config.evaluation.gate_early_stop else 1.0
        edits, trial = most_edits(self.config), min(sizes.train, trial_items(self.config, sizes.selection))
        alone = trial * (edits + 2)
        return GateCalls(
            gate=(0, 2 * n),
            other_gate=2 * n,
            trial=(math.ceil(trial * early), credit_calls(self.config, edits, sizes.selection, sizes.train) + alone),
            other_trial=alone,
            review=(0, 2 * trial),
            last=(0, 2 * n + trial),
        )

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """The last look asks the selection split once, and once more when it proves the draft."""
        looks = 2 * len(context.selection) * self.config.evaluation.repeats
        return item_cost(context, state.best.rollouts).times(looks)

    def promise(self, items: int, steps: int) -> Promise:
        """The error that is held, and the smallest gain that the last look proves."""
        del steps
        evaluation = self.config.evaluation
        if items < 2:
            return Promise()
        ledger = AlphaLedger.opened(evaluation.gate_alpha)
        last, first = ledger.price(last=True), ledger.price(last=False)
        if never_passes(items, last) and not evaluation.gate_shorter_margin:
            return Promise(
                refusals=(
                    f"the paired gate can never pass: {items} selection items, won every one, do not reach "
                    f"evaluation.gate_alpha={evaluation.gate_alpha:g}; have at least {least_items(last)} "
                    f"({least_items(first)} for a look during the run), or use evaluation.gate_rule=strict",
                )
            )
        gain = smallest_gain(items, NOISE, alpha=last)
        shown = "no gain" if gain is None else f"gains of {points_of(gain)} points or more"
        notes = [
            "paired gate: a run without any true gain accepts something with chance "
            f"{100 * evaluation.gate_alpha:.0f} % at most; with {100 * NOISE:.0f} % noise its last look "
            f"proves {shown} (80 % power); skillopt selftest measures the noise"
        ]
        if never_passes(items, first):
            notes.append(
                f"only the last look can prove anything: a look during the run needs {least_items(first)} "
                "selection items"
            )
        if gain is not None and evaluation.gate_min_effect > gain:
            notes.append(
                f"evaluation.gate_min_effect={evaluation.gate_min_effect:g} asks for more than can be detected"
            )
        return Promise(tuple(notes))

    def _ledger(self, state: TrainState) -> AlphaLedger:
        return state.ledger or AlphaLedger.opened(self.config.evaluation.gate_alpha)

    def _worth_a_look(
        self, candidate: Candidate, state: TrainState, trial: Trial, context: RunContext, alpha: float
    ) -> bool:
        if is_shorter(context, candidate.skill, state.best.skill):
            return True
        return proof_is_likely([*state.draft_gains, trial.draft_gain], len(context.selection), alpha=alpha)
