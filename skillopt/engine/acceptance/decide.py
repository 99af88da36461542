"""The one way to a decision: a candidate is shown, asked about by the run's rule, counted and told.

Steps, notes and epoch ends all come here; what a decision changes is `TrainState.after`. Nothing has changed when a
stop interrupts.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.rule import AcceptanceRule, withheld
from skillopt.engine.decision import Decision
from skillopt.engine.run.context import RunContext, count_rollouts
from skillopt.engine.state import TrainState
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally

STEP = "gate"
"""The stage of a step's own candidate."""


async def decide(
    rule: AcceptanceRule,
    candidate: Candidate,
    state: TrainState,
    context: RunContext,
    tally: Tally,
    *,
    epoch: int,
    stage: str = STEP,
) -> Decision:
    """Let the rule decide about a candidate of `stage`. What it asks is added to `tally`. Raises `StopRun`."""
    step = candidate.step
    context.emit("stage.start", stage="evaluate", step=step, epoch=epoch, total=len(context.selection))
    with context.timings.measure(step, "evaluate" if stage == STEP else f"{stage}_evaluate"):
        if candidate.held_back:
            decision = withheld(candidate, state)
        else:
            decision = await rule.decide(candidate, state, context)
        count(tally, decision)
    tell(context, state, decision, epoch=epoch, stage=stage)
    return decision


def count(tally: Tally, decision: Decision) -> None:
    """Add what a decision asked to a tally: training items under `trial`, selection items under `gate`."""
    asked = [r for trial in decision.trials for r in trial.rollouts]
    count_rollouts(tally, "trial", [*asked, *decision.extra])
    count_rollouts(tally, "gate", decision.rollouts)
    if decision.looked and decision.measured is not None:
        count_rollouts(tally, "gate", decision.measured.rollouts)


def tell(context: RunContext, state: TrainState, decision: Decision, *, epoch: int | None, stage: str) -> None:
    """Tell observers of a decision. The scores are those that it was compared with."""
    context.emit("gate.verdict", stage=stage, step=decision.step, epoch=epoch, current_score=state.current.gate_score,
                 best_score=state.best.gate_score, **decision.verdict.to_json())  # fmt: skip


def write_decision(folder: Path, decision: Decision) -> None:
    """The rollouts that a decision rests on. Blocking; call it in a worker thread."""
    if decision.trials:
        write_rollout_dir(folder / "trial_eval", list(decision.trials[-1].rollouts))
    if decision.rollouts:
        write_rollout_dir(folder / "selection_eval", list(decision.rollouts))
