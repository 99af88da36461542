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
from skillopt.engine.run.telling.stages import staged
from skillopt.engine.state import TrainState
from skillopt.envs.views import write_rollout_dir
from skillopt.optimizer.context import Tally
from skillopt.records.events import CandidateAccepted, CandidateProposed, CandidateRejected, GateVerdict
from skillopt.records.vocabulary import Action, Stage

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
    stage: Stage = Stage.GATE,
) -> Decision:
    """Let the rule decide about a candidate of `stage` (`Stage.GATE`: the step's own). Raises `StopRun`.

    What it asks is added to `tally`."""
    step = candidate.step
    context.emit(
        CandidateProposed(
            stage=stage, step=step, origin=candidate.origin, candidate_hash=candidate.skill.hash,
            n_edits=len(candidate.edits),
        )
    )  # fmt: skip
    clock = "" if stage is Stage.GATE else f"{stage}_evaluate"
    with staged(context, Stage.GATE, step=step, epoch=epoch, total=len(context.selection), clock=clock) as told:
        if candidate.held_back:
            decision = withheld(candidate, state)
        else:
            decision = await rule.decide(candidate, state, context)
        count(tally, decision)
        evidence = decision.verdict.evidence
        told.count(wins=len(evidence.wins), losses=len(evidence.losses), evaluated=evidence.evaluated)
    tell(context, state, decision, epoch=epoch, stage=stage)
    return decision


def count(tally: Tally, decision: Decision) -> None:
    """Add what a decision asked to a tally: training items under `trial`, selection items under `gate`, each once."""
    asked = [r for trial in decision.trials for r in trial.rollouts]
    count_rollouts(tally, Stage.TRIAL, [*asked, *decision.extra])
    count_rollouts(tally, Stage.GATE, decision.rollouts)
    if decision.looked and decision.measured is not None:
        known = {(r.item.id, r.skill_hash, r.repeat) for r in decision.rollouts}
        fresh = [r for r in decision.measured.rollouts if (r.item.id, r.skill_hash, r.repeat) not in known]
        count_rollouts(tally, Stage.GATE, fresh)


def tell(context: RunContext, state: TrainState, decision: Decision, *, epoch: int | None, stage: Stage) -> None:
    """Tell observers of a decision. The scores are those that it was compared with."""
    record, step = decision.record(), decision.step
    context.emit(
        GateVerdict(
            stage=stage, step=step, epoch=epoch, current_score=state.current.gate_score,
            best_score=state.best.gate_score, gate=record,
        )
    )  # fmt: skip
    text = decision.decided_on.hash
    if record.changed_current:
        context.emit(
            CandidateAccepted(
                stage=stage, step=step, origin=decision.origin, candidate_hash=text, proven=record.proven,
                reason=record.reason,
            )
        )  # fmt: skip
    else:
        context.emit(
            CandidateRejected(
                stage=stage, step=step, origin=decision.origin, candidate_hash=text,
                undecided=record.action is Action.UNDECIDED, reason=record.reason,
            )
        )  # fmt: skip


def write_decision(folder: Path, decision: Decision) -> None:
    """The rollouts that a decision rests on. Blocking; call it in a worker thread."""
    if decision.trials:
        write_rollout_dir(folder / "trial_eval", list(decision.trials[-1].rollouts))
    if decision.rollouts:
        write_rollout_dir(folder / "selection_eval", list(decision.rollouts))
