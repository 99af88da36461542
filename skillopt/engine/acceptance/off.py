"""No rule: every candidate is measured and kept (`evaluation.use_gate: false`); the best skill is the highest score.

Under the other rules it is how a forced candidate is kept: measured before it becomes current, so that no text ever
carries another text's score. What too few items could measure is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.config import Config
from skillopt.config.derived import Sizes
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.compare import compare, ranks_higher
from skillopt.engine.acceptance.rule import DraftlessRule, GateCalls, Promise, unchanged
from skillopt.engine.decision import Decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState


async def keep_as_measured(candidate: Candidate, state: TrainState, context: RunContext, *, promotes: bool) -> Decision:
    """Measure a candidate and keep it. With `promotes` it becomes best when its score is higher."""
    if candidate.skill == state.current.skill:
        return unchanged(candidate, state, "force_accept")
    found = await compare(candidate, state, context, early=False, max_losses=None)
    verdict = found.verdict
    if found.measured is not None and verdict.action != "undecided":
        verdict = replace(
            verdict, action="force_accept", score=found.measured.gate_score, reason="the gate is off: kept as measured"
        )
    return Decision(
        candidate.skill, candidate.origin, candidate.step, verdict, found.rollouts, found.measured,
        promoted=promotes and ranks_higher(found.measured, state.best),
    )  # fmt: skip


@dataclass(frozen=True)
class OffRule(DraftlessRule):
    """For published runs without a gate, and to see what the gate is worth."""

    config: Config

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Keep it."""
        return await keep_as_measured(candidate, state, context, promotes=True)

    def calls(self, sizes: Sizes) -> GateCalls:
        """The whole split for every candidate."""
        n = sizes.selection * self.config.evaluation.repeats
        return GateCalls(gate=(n, n), other_gate=n, last=(0, n))

    def promise(self, items: int, steps: int) -> Promise:
        """Nothing is claimed."""
        del items, steps
        return Promise()
