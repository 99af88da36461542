"""A stage from its start to its end: told, timed, and ended on every way out.

`with staged(context, Stage.TEST, total=12) as told:` emits the start, measures the time under the stage's name and
emits the end with what `told` has learnt, also when a stop or an error leaves the block. So every bar that was drawn
goes away, and every span that was opened is closed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from skillopt.core.outcome import Score as MeasuredScore
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.telling.frame import outcome_of
from skillopt.records.events import Outcome, Score, StageEnd, StageStart
from skillopt.records.vocabulary import Stage


@dataclass
class Told:
    """What the end of a stage will say."""

    score: Score | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def measured(self, score: MeasuredScore | None) -> None:
        """The stage's score, with what it rests on."""
        if score is not None:
            self.score = Score(hard=score.hard, soft=score.soft, n=score.n, total=score.total)

    def count(self, **counts: int) -> None:
        """What else it found, by name."""
        self.counts.update(counts)


@contextmanager
def staged(
    context: RunContext,
    stage: Stage,
    *,
    step: int | None = None,
    epoch: int | None = None,
    total: int | None = None,
    label: str = "",
    clock: str = "",
) -> Generator[Told]:
    """Start a stage and end it. `clock` is its name among the timings, where that is not the stage's own."""
    context.emit(StageStart(stage=stage, step=step, epoch=epoch, total=total, label=label))
    told = Told()
    outcome: Outcome = "done"
    try:
        with context.timings.measure(step, clock or stage.clock):
            yield told
    except BaseException as error:  # told and raised
        outcome = outcome_of(error)
        raise
    finally:
        context.emit(
            StageEnd(stage=stage, step=step, epoch=epoch, outcome=outcome, score=told.score, counts=dict(told.counts))
        )
