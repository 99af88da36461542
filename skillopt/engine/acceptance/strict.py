"""The published rule: a candidate is kept when its mean over the selection split is strictly greater. Ties reject.

Use it to repeat published runs, and where the selection split is too small for a proof. Now and then it keeps a
candidate by luck; `promise` says how often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from skillopt.config import Config
from skillopt.config.derived import Sizes, credit_calls, credit_mode, most_edits
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.compare import compare, ranks_higher
from skillopt.engine.acceptance.off import keep_as_measured
from skillopt.engine.acceptance.rule import EARLY_STOP_SHARE, DraftlessRule, GateCalls, Promise, unchanged
from skillopt.engine.decision import Decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.gate.power import NOISE, lucky


@dataclass(frozen=True)
class StrictRule(DraftlessRule):
    """Whatever scores higher than the current skill becomes current; the highest score so far is the best skill."""

    config: Config

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Ask the candidate on the selection split against the current skill."""
        if candidate.forced:
            return await keep_as_measured(candidate, state, context, promotes=True)
        if candidate.skill == state.current.skill:
            return unchanged(candidate, state)
        evaluation = self.config.evaluation
        found = await compare(
            candidate, state, context, early=evaluation.gate_early_stop, max_losses=evaluation.gate_max_regressions
        )
        return Decision(
            candidate.skill, candidate.origin, candidate.step, found.verdict, found.rollouts, found.measured,
            promoted=ranks_higher(found.measured, state.best),
        )  # fmt: skip

    def calls(self, sizes: Sizes) -> GateCalls:
        """An early stop at best; the whole split once more where credit sends what is left of a rejected patch."""
        n = sizes.selection * self.config.evaluation.repeats
        early = EARLY_STOP_SHARE if self.config.evaluation.gate_early_stop else 1.0
        credit = credit_calls(self.config, most_edits(self.config), sizes.selection, sizes.train)
        again = 2 if credit and credit_mode(self.config) == "rejected" else 1
        return GateCalls(gate=(math.ceil(n * early), again * n), other_gate=n, trial=(0, credit), last=(0, n))

    def promise(self, items: int, steps: int) -> Promise:
        """How often luck is kept."""
        if items < 2:
            return Promise()
        once = lucky(items, NOISE)
        run = 1 - (1 - once) ** steps
        return Promise(
            notes=(
                f"strict gate: if {100 * NOISE:.0f} % of the answers are noise, an edit that does nothing is kept with "
                f"chance {once:.2f}, and a run of {steps} steps keeps at least one such edit with chance {run:.2f}; "
                f"evaluation.gate_rule=paired holds that at {100 * self.config.evaluation.gate_alpha:.0f} %, "
                "skillopt selftest measures the noise",
            )
        )
