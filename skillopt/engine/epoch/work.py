"""One mechanism at one epoch's end: its name, its directory, the calls it rests on, the frame of its result file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.decide import decide
from skillopt.engine.acceptance.rule import AcceptanceRule
from skillopt.engine.decision import Decision
from skillopt.engine.run.bill import cost_of
from skillopt.engine.run.context import RunContext
from skillopt.engine.state import TrainState
from skillopt.optimizer.context import Tally

Result = Mapping[str, Any]
"""A result file."""


@dataclass(frozen=True)
class EpochWork:
    """`step` is the epoch's last step, `tally` counts every call the mechanism rests on."""

    rule: AcceptanceRule
    context: RunContext
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

    def start(self, **more: Any) -> None:
        """Tell observers that it begins."""
        self.context.emit("stage.start", stage=self.name, step=self.step, epoch=self.epoch, **more)

    async def decide(
        self, skill: Skill, state: TrainState, *, shown: tuple[Rollout, ...] = (), forced: bool = False
    ) -> Decision:
        """Send a text to the gate. `shown` are the training rollouts that it was made from. Raises `StopRun`."""
        candidate = Candidate(skill, self.origin, self.step, shown=shown, forced=forced)
        return await decide(self.rule, candidate, state, self.context, self.tally, epoch=self.epoch, stage=self.name)

    def result(self, state: TrainState, body: Mapping[str, Any]) -> Result:
        """The result file: `body`, then where the run stands now, tokens and money. No clock value is in it."""
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
            "cost": cost_of(self.context, self.tally.stages),
        }
