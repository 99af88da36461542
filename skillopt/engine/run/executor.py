"""From the configuration to the executor of a run: where its scorers, commands and programs work."""

from __future__ import annotations

from skillopt.agents.run import PROGRAM
from skillopt.config import ExecutorSection
from skillopt.envs.score_work import HANDLERS
from skillopt.executors.ray import executor as ray
from skillopt.executors.ray.settings import RaySettings
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
    if section.kind == "ray":
        return ray.create(ray_settings(section), attempts=section.attempts, registry=registry)
    return LocalExecutor(
        slots=section.slots or None,
        attempts=section.attempts,
        lost_after_s=section.lost_after_seconds,
        registry=registry,
    )


def ray_settings(section: ExecutorSection) -> RaySettings:
    """What of the section a cluster is told."""
    return RaySettings(
        address=section.ray_address,
        namespace=section.ray_namespace,
        runtime_env=section.ray_runtime_env,
        labels=section.ray_labels,
        insecure=section.ray_insecure,
        cpus_per_worker=section.ray_cpus_per_worker,
        memory_mb=section.ray_memory_mb,
        start_seconds=section.ray_start_seconds,
        slots=section.slots,
        lost_after_s=section.lost_after_seconds,
    )


def agents_at_once(workers: int, emit: Emit, section: ExecutorSection) -> int:
    """How many agent programs run at once: as configured, within this machine's memory where they run on it. Says so
    where that is less."""
    if section.kind == "ray" and section.ray_address:
        return workers
    fitting = max(1, int(memory_mb() // PROGRAM.memory_mb))
    if fitting < workers:
        text = (
            f"{fitting} agent programs run at once instead of {workers} (env.workers): this machine's memory holds no"
            f" more of them ({PROGRAM.memory_mb} MB each)"
        )
        emit(Notice(text=text))
    return min(workers, fitting)
