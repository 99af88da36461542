"""The rule of the factorial search: nothing is decided before the one proof at the end (`acceptance.proof.prove`).

The search itself says which lines make the draft, by their effects on training items, so nothing is tried, reviewed or
pruned here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.config import Config
from skillopt.config.derived import Sizes, factorial_calls
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.proof import ProofRule, cost_of_look, prove
from skillopt.engine.acceptance.rule import GateCalls, Promise, unchanged
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.state import TrainState
from skillopt.optimizer.factorial.prior import Prior


@dataclass(frozen=True)
class FactorialRule:
    """`train.search: factorial`, whatever `evaluation.gate_rule` says."""

    config: Config

    def opened(self, baseline: Measured, context: RunContext) -> TrainState:
        """The baseline, and what an earlier ending of this run proved."""
        return ProofRule(self.config).opened(baseline, context)

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Nothing is accepted before the end."""
        del context
        return unchanged(candidate, state)

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """The posterior reviews every line in every round."""
        del state, context, epoch, step
        return None

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """The one look. Useless lines were left out by their effects already."""
        if not state.is_draft:
            return None
        return await prove(Candidate(state.current.skill, state.current_origin, state.last_step), state, context)

    def calls(self, sizes: Sizes) -> GateCalls:
        """The selection split once."""
        n = sizes.selection * self.config.evaluation.repeats
        return GateCalls(gate=(0, 0), other_gate=0, last=(0, n))

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """What the look needs."""
        return cost_of_look(state, context)

    def promise(self, items: int, steps: int) -> Promise:
        """The error that is held, the smallest gain that the look proves, and how well the rollouts can tell what one
        line does."""
        proof = ProofRule(self.config).promise(items, steps)
        rollouts = steps * self.config.train.batch_size * self.config.train.accumulation
        if not rollouts:
            return proof
        told = (
            f"factorial: {rollouts} rollouts, each with another part of at most {factorial_calls(rollouts)} calls' "
            f"proposals; what a line that half of them had does to the mean score is known to about ± "
            f"{100 * half_width(rollouts):.0f} points (95 %)"
        )
        return replace(proof, notes=(*proof.notes, told))


def half_width(rollouts: int) -> float:
    """Half of the 95 % interval of a line's effect, where half of the rollouts had the line.

    >>> round(half_width(1200), 3)
    0.045
    """
    prior = Prior()
    return 1.96 * (rollouts / (4 * prior.noise) + 1 / prior.spread**2) ** -0.5
