"""The gate for a change that an epoch's end proposes: slow-update guidance, the patch of a meta reflection.

It is the gate of the steps. `forced` keeps the change whatever it scores, and still measures it before it becomes
current, so that no text ever carries another text's score; a change that too few items could measure is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.decide import count_gate, gate, settle
from skillopt.engine.run.bill import cost_of
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import GateResult, TrainState
from skillopt.envs.views import write_rollout_dir
from skillopt.gate.verdict import Action, Evidence, Verdict
from skillopt.optimizer.context import Tally


@dataclass
class EpochWork:
    """One mechanism at one epoch's end. `step` is the epoch's last step, `tally` counts every call it rests on."""

    name: str
    epoch: int
    step: int
    tally: Tally = field(default_factory=Tally)

    @property
    def folder(self) -> str:
        """Its directory in the run directory."""
        return f"{self.name}/epoch_{self.epoch:02d}"

    @property
    def origin(self) -> str:
        """The tag of a skill that it produces."""
        return f"{self.name}_epoch_{self.epoch:02d}"

    def start(self, context: RunContext, **more: Any) -> None:
        """Tell observers that it begins."""
        context.emit("stage.start", stage=self.name, step=self.step, epoch=self.epoch, **more)

    def result(self, context: RunContext, state: TrainState, body: dict[str, Any]) -> dict[str, Any]:
        """The result file: `body`, then where the run stands, tokens and money. No clock value is in it."""
        return {
            "stage": self.name,
            "epoch": self.epoch,
            "step": self.step,
            **body,
            "time_s": None,
            "current_score": state.current.gate_score,
            "best_score": state.best.gate_score,
            "current_origin": state.current_origin,
            "best_origin": state.best_origin,
            "tokens": self.tally.stages,
            "n_dropped_replies": self.tally.dropped,
            "n_reasks": self.tally.reasks,
            "cost": cost_of(context, self.tally.stages),
        }


async def decide(
    context: RunContext,
    state: TrainState,
    candidate: Skill,
    work: EpochWork,
    *,
    shown: Sequence[Rollout] = (),
    forced: bool = False,
) -> GateResult:
    """Measure a candidate, take the verdict, and let it change the state. A tie of bytes rejects without a call.

    `shown` are the training rollouts that the candidate was made from. Raises `StopRun`; nothing has changed then.
    """
    if forced:
        evaluation = context.config.evaluation.model_copy(update={"use_gate": False})
        context = replace(context, config=context.config.model_copy(update={"evaluation": evaluation}))
    before = state.current.gate_score
    context.emit("stage.start", stage="evaluate", step=work.step, epoch=work.epoch, total=len(context.selection))
    with context.timings.measure(work.step, f"{work.name}_evaluate"):
        if candidate == state.current.skill:
            action: Action = "reject" if context.config.evaluation.use_gate else "force_accept"
            evidence = Evidence(total=len(state.current.rollouts))
            gated = GateResult(Verdict(action, before, evidence, "nothing changed"), (), state.current)
        else:
            gated = await gate(context, candidate, state, step=work.step, shown=shown)
            count_gate(work.tally, gated)
            settle(state, gated, origin=work.origin, step=work.step)
    context.emit("gate.verdict", stage=work.name, step=work.step, epoch=work.epoch, current_score=before,
                 best_score=state.best.gate_score, **gated.verdict.to_json())  # fmt: skip
    return gated


def write_gate(context: RunContext, work: EpochWork, gated: GateResult) -> None:
    """The rollouts that a verdict rests on. Blocking; call it in a worker thread."""
    folder = context.run_dir.root / work.folder
    if gated.trials:
        write_rollout_dir(folder / "trial_eval", list(gated.trials[-1].rollouts))
    if gated.rollouts:
        write_rollout_dir(folder / "selection_eval", list(gated.rollouts))


def verdict_fields(gated: GateResult, candidate: Skill) -> dict[str, Any]:
    """What a result file says of a candidate that was measured."""
    score = gated.measured.score if gated.measured else None
    return {
        "candidate_hash": candidate.hash,
        "candidate_skill_len": len(candidate.text),
        "selection_hard": score.hard if score else None,
        "selection_soft": score.soft if score else None,
        **gated.to_json(),
    }
