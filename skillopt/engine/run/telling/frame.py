"""How a run's frame is told: who its roles are, how what had begun ended, and an evaluation from its start to its end.

What was told to begin is told to end on every way out: `stopped` for an end in order (a budget, patience, a fault of
the provider, Ctrl-C, a cancelled task), `failed` for any other exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from skillopt.core.errors import StopRun
from skillopt.engine.run.context import RunContext
from skillopt.records.events import Outcome, RunEnd, RunStart

_INTERRUPTED = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)


def outcome_of(error: BaseException) -> Outcome:
    """How something ended that an exception left."""
    return "stopped" if isinstance(error, (StopRun, *_INTERRUPTED)) else "failed"


def ended_by(error: BaseException) -> RunEnd:
    """The end of a run that an exception left."""
    said = "interrupted" if isinstance(error, _INTERRUPTED) else str(error) or type(error).__name__
    return RunEnd(outcome=outcome_of(error), reason=said)


@contextmanager
def evaluation_told(context: RunContext, splits: Sequence[str]) -> Generator[None]:
    """The frame of an evaluation of one skill or several. `splits` are canonical names."""
    context.emit(
        RunStart(
            kind="eval", out_root=str(context.run_dir.root), env=context.env.name,
            roles=context.roles,
            splits={name: len(context.splits.named(name)) for name in splits},
            gate_metric=context.metric.name,
        )
    )  # fmt: skip
    try:
        yield
    except BaseException as error:  # told and raised
        context.emit(ended_by(error))
        raise
    context.emit(RunEnd())
