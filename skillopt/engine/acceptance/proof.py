"""The proof: one look at the end, at the run's whole level, against the initial skill. Nothing is decided before.

The search works on training items only, so no number of tried edits can spoil the look: the chance that a run without
any true gain ships something is at most `evaluation.gate_alpha`. What is not proven stays beside the result as
`draft_skill.md`, named as unproven.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.config import Config
from skillopt.config.derived import Sizes
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.look import look
from skillopt.engine.acceptance.paired import PairedRule
from skillopt.engine.acceptance.rule import GateCalls, Promise, unchanged
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.run.budget import Spend
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.alpha import AlphaLedger


@dataclass(frozen=True)
class ProofRule:
    """An `AcceptanceRule` that only ever looks once."""

    config: Config

    def opened(self, baseline: Measured) -> TrainState:
        """The baseline, and the whole error budget."""
        return PairedRule(self.config).opened(baseline)

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Nothing is accepted before the end."""
        del context
        return unchanged(candidate, state)

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """The posterior reviews every line in every round."""
        del state, context, epoch, step
        return None

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """The one look. Useless lines were left out by their effects already; nothing is pruned here."""
        if not state.is_draft or not state.history:
            return None
        candidate = Candidate(state.current.skill, state.current_origin, state.last_step, edits=state.draft_edits)
        ledger = state.ledger or AlphaLedger.opened(self.config.evaluation.gate_alpha)
        return await look(candidate, state, context, ledger, last=True)

    def calls(self, sizes: Sizes) -> GateCalls:
        """The selection split once, and once more when the draft is proven."""
        n = sizes.selection * self.config.evaluation.repeats
        return GateCalls(gate=(0, 0), other_gate=0, last=(0, 2 * n))

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """What the look needs."""
        return PairedRule(self.config).reserve(state, context)

    def promise(self, items: int, steps: int) -> Promise:
        """The error that is held, and the smallest gain that the look proves."""
        return PairedRule(self.config).promise(items, steps)
