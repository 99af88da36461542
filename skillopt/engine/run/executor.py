"""From the configuration to the executor of a run: where its scorers, commands and programs work."""

from __future__ import annotations

from skillopt.agents.run import PROGRAM
from skillopt.config import ExecutorSection
from skillopt.envs.score_work import HANDLERS
from skillopt.records.events import Emit, Notice
from skillopt.work.executor import Executor
from skillopt.work.inline import InlineExecutor
from skillopt.work.local import LocalExecutor
from skillopt.work.registry import BUILT_IN, Registry
from skillopt.work.slots import memory_mb


def create_executor(section: ExecutorSection) -> Executor:
    """The executor, with nothing started yet. Whoever asks for it closes it."""
    registry = Registry({**BUILT_IN, **HANDLERS})
    if section.kind == "inline":
        return InlineExecutor(registry)
    return LocalExecutor(
        slots=section.slots or None,
        attempts=section.attempts,
        lost_after_s=section.lost_after_seconds,
        registry=registry,
    )


def agents_at_once(workers: int, emit: Emit) -> int:
    """How many agent programs run at once: as configured, within this machine's memory. Says so where that is less."""
    fitting = max(1, int(memory_mb() // PROGRAM.memory_mb))
    if fitting < workers:
        text = (
            f"{fitting} agent programs run at once instead of {workers} (env.workers): this machine's memory holds no"
            f" more of them ({PROGRAM.memory_mb} MB each)"
        )
        emit(Notice(text=text))
    return min(workers, fitting)
