"""From the configuration to the executor of a run: where its scorers, commands and programs work."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.agents.run import PROGRAM
from skillopt.agents.settings import AgentSettings
from skillopt.config import ExecutorSection
from skillopt.core.errors import ConfigError
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


def refuse_travelling(section: ExecutorSection, agent: AgentSettings, environ: Mapping[str, str]) -> None:
    """Keep an agent's key on this machine. Raises `ConfigError` where it would travel unasked, or in the clear."""
    if section.kind != "ray" or not section.ray_address:
        return
    if agent.login is not None:
        raise ConfigError(
            f"{agent.backend} would sign in by the login in {agent.login}, which nodes do not have",
            hint="set model.exec_base_url and model.exec_api_key, or use executor.kind=local",
        )
    if not (agent.api_key or (agent.endpoint is not None and agent.endpoint.api_key)):
        return
    if section.credentials == "refuse":
        raise ConfigError(
            f"{agent.backend} needs its key on the nodes of {section.ray_address}, and keys do not travel",
            hint="set executor.credentials: send (with TLS), or use executor.kind=local",
        )
    if environ.get("RAY_USE_TLS") != "1" and not section.ray_insecure:
        raise ConfigError(
            "executor.credentials=send would send a key in the clear: RAY_USE_TLS is not set",
            hint="set up TLS for the cluster (RAY_USE_TLS=1 here and on its nodes)",
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
