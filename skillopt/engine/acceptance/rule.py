"""The seam: an acceptance rule decides which text becomes current and which is the run's result.

A rule is a value made of the configuration (`choose.rule_of`) and holds no state: what a run has learnt is in the
`TrainState`, what a decision changes is in the `Decision`. It also says what it may ask, what it keeps back for the end
of a run and what it can show at all, so that neither forecast nor budget works that out a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from skillopt.config.derived import Sizes
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.decision import Decision, Measured
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.budget import Spend
from skillopt.engine.state import TrainState
from skillopt.gate.verdict import Action, Evidence, Verdict

EARLY_STOP_SHARE = 0.2
"""Share of a decision's calls that a clearly bad candidate still needs, the current skill's failures asked first."""
Calls = tuple[int, int]
"""Least and most."""


@dataclass(frozen=True)
class GateCalls:
    """Target calls: of one step's gate (selection split) and trials (training items), of any other candidate (notes,
    guidance, a meta reflection) at most, of the review at one epoch's end, and after the last step."""

    gate: Calls
    other_gate: int
    trial: Calls = (0, 0)
    other_trial: int = 0
    review: Calls = (0, 0)
    last: Calls = (0, 0)


@dataclass(frozen=True)
class Promise:
    """What a rule can show and how often it errs, in lines for the plan; refusals are reasons not to start."""

    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


class AcceptanceRule(Protocol):
    """`strict` keeps any higher score, `proof` proves the result once, `paired` proves on the way, `off` keeps all."""

    def opened(self, baseline: Measured, context: RunContext) -> TrainState:
        """The state of a run whose initial skill was just measured."""
        ...

    async def decide(self, candidate: Candidate, state: TrainState, context: RunContext) -> Decision:
        """Ask what has to be asked and decide. Changes nothing. Raises `StopRun`."""
        ...

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """An epoch's end, before anything else: whether a draft goes on. None when there is nothing to review."""
        ...

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """The end of a run, however it came: decide about a draft that is not proven. None when there is none."""
        ...

    def calls(self, sizes: Sizes) -> GateCalls:
        """What the rule may ask."""
        ...

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """What `finish` will need, by what items cost so far: kept out of the reach of training."""
        ...

    def promise(self, items: int, steps: int) -> Promise:
        """What the rule can show on a selection split of `items` items, over `steps` steps."""
        ...


class DraftlessRule:
    """What rules have in common that decide at once: nothing is left open at an epoch's or at the run's end."""

    def opened(self, baseline: Measured, context: RunContext) -> TrainState:
        """Nothing but the baseline."""
        del context
        return TrainState(initial=baseline, current=baseline, best=baseline)

    async def review(self, state: TrainState, context: RunContext, *, epoch: int, step: int) -> Decision | None:
        """There are no drafts."""
        del state, context, epoch, step
        return None

    async def finish(self, state: TrainState, context: RunContext) -> Decision | None:
        """Nothing is left open: whatever scored higher than the best skill became it at once."""
        del state, context
        return None

    def reserve(self, state: TrainState, context: RunContext) -> Spend:
        """Nothing."""
        del state, context
        return Spend()


def unchanged(candidate: Candidate, state: TrainState, action: Action = "reject") -> Decision:
    """The decision about a text that is the current skill: a tie, and ties reject without a call."""
    evidence = Evidence(total=len(state.current.rollouts))
    verdict = Verdict(action, state.current.gate_score, evidence, candidate.remark or "nothing changed")
    return Decision(candidate.skill, candidate.origin, candidate.step, verdict, measured=state.current)


def withheld(candidate: Candidate, state: TrainState) -> Decision:
    """The decision about a candidate that is held back before it reaches the gate."""
    verdict = Verdict("reject", None, Evidence(total=len(state.current.rollouts)), candidate.held_back)
    return Decision(candidate.skill, candidate.origin, candidate.step, verdict)
