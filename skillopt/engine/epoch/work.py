"""One mechanism at one epoch's end: its name, its directory, the calls it rests on, the frame of its result file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.decide import decide
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.decision import Decision
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.bill import cost_of
from skillopt.engine.state import TrainState
from skillopt.optimizer.context import Tally
from skillopt.records.events import Outcome, StageEnd, StageStart
from skillopt.records.schema import RECORD_VERSION, EpochRecord, GateRecord, token_counts
from skillopt.records.vocabulary import Action, Stage


@dataclass(frozen=True)
class EpochWork:
    """`step` is the epoch's last step, `tally` counts every call the mechanism rests on."""

    rule: AcceptanceRule
    context: RunContext
    stage: Stage
    epoch: int
    step: int
    tally: Tally = field(default_factory=Tally)

    @property
    def folder(self) -> str:
        """Its directory in the run directory."""
        return f"{self.stage}/epoch_{self.epoch:02d}"

    @property
    def origin(self) -> str:
        """The tag of a skill that it produces."""
        return f"{self.stage}_epoch_{self.epoch:02d}"

    def start(self, total: int | None = None) -> None:
        """Tell observers that it begins."""
        self.context.emit(StageStart(stage=self.stage, step=self.step, epoch=self.epoch, total=total))

    def end(self, outcome: Outcome = "done") -> None:
        """Tell observers that it is over."""
        self.context.emit(StageEnd(stage=self.stage, step=self.step, epoch=self.epoch, outcome=outcome))

    async def decide(
        self, skill: Skill, state: TrainState, *, shown: tuple[Rollout, ...] = (), forced: bool = False
    ) -> Decision:
        """Send a text to the gate. `shown` are the training rollouts that it was made from. Raises `StopRun`."""
        candidate = Candidate(skill, self.origin, self.step, shown=shown, forced=forced)
        return await decide(self.rule, candidate, state, self.context, self.tally, epoch=self.epoch, stage=self.stage)

    def result(self, state: TrainState, record: EpochRecord) -> EpochRecord:
        """The record with where the run stands now, tokens and money. No clock value is in it."""
        return replace(
            record,
            version=RECORD_VERSION,
            current_score=state.current.gate_score,
            best_score=state.best.gate_score,
            current_origin=state.current_origin,
            best_origin=state.best_origin,
            tokens=token_counts(self.tally.stages),
            n_dropped_replies=self.tally.dropped,
            n_reasks=self.tally.reasks,
            cost=cost_of(self.context, self.tally.stages),
        )

    def record(self, action: Action, reason: str = "") -> EpochRecord:
        """The beginning of the record of a mechanism that asked no gate."""
        gate = GateRecord(action=action, reason=reason)
        return EpochRecord(stage=self.stage, epoch=self.epoch, step=self.step, gate=gate)
