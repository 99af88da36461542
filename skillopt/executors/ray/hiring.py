"""Actors by Ray: how a worker is asked for, and what is demanded of the node on which it begins.

Nothing is repeated by Ray (`max_restarts`, `max_task_retries` 0): a unit is paid work, and only the run repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject, as_number, as_text
from skillopt.executors.ray import actor, cluster, shares
from skillopt.executors.ray.code import own_code
from skillopt.executors.ray.library import Handle, on_node, ray
from skillopt.executors.ray.settings import RaySettings
from skillopt.executors.ray.worker import Worker

_AT_ONCE = 4000
"""Calls that one actor holds open; each waits for a worker process of its own."""
_UNKNOWN_MEMORY_MB = 4096.0


def hire(settings: RaySettings, *, node: str = "") -> Worker:
    """Ask for an actor, on a certain node or wherever there is room. Returns at once; `begun` waits for it."""
    library = ray()
    library.cloudpickle.register_pickle_by_value(actor)
    options: dict[str, object] = {
        "num_cpus": 0 if node else settings.cpus_per_worker,
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": _AT_ONCE,
        "scheduling_strategy": on_node(node) if node else "SPREAD",
    }
    if settings.memory_mb and not node:
        options["memory"] = settings.memory_mb << 20
    if settings.labels and not node:
        options["label_selector"] = dict(settings.labels)
    made = library.remote(actor.NodeWorker).options(**options).remote()
    return Worker(cast("Handle", made), settings.cpus_per_worker, settings.memory_mb or _UNKNOWN_MEMORY_MB)


async def begun(worker: Worker, settings: RaySettings) -> None:
    """Wait until it runs, and learn where. Raises `Gone`, and `ConfigError` for a node that may not be used."""
    worker.said = cast("JsonObject", await worker.call(worker.handle.hello, settings.lost_after_s))
    worker.node = as_text(worker.said.get("node"))
    fault = fault_of(worker.said, settings)
    if fault is not None:
        raise fault
    if not settings.memory_mb:
        worker.memory_mb = worker.free_memory = _memory_of(worker.node, settings.cpus_per_worker)


def fault_of(said: JsonObject, settings: RaySettings) -> ConfigError | None:
    """Why a node may not be used."""
    version, code = own_code()
    host = as_text(said.get("host"))
    if not said.get("version"):
        return ConfigError(
            f"node {host} has no skillopt: {as_text(said.get('fault'))}",
            hint=f"install skillopt {version} there (pip install 'skillopt[ray]=={version}')",
        )
    if (said.get("version"), said.get("code")) != (version, code):
        there = f"{as_text(said.get('version'))} (code {as_text(said.get('code'))})"
        return ConfigError(
            f"node {host} has skillopt {there}, and this run is skillopt {version} (code {code})",
            hint="install the same there; a run must not be scored by two versions",
        )
    if settings.address and not settings.insecure and not said.get("token"):
        return cluster.no_token(settings.address)
    return None


def shares_actor() -> object:
    """The actor that divides the cluster, found or made."""
    library = ray()
    library.cloudpickle.register_pickle_by_value(shares)
    options = {"name": shares.NAME, "get_if_exists": True, "num_cpus": 0, "max_restarts": 0, "max_task_retries": 0}
    return library.remote(shares.Shares).options(**options).remote()


def _memory_of(node: str, cpus: float) -> float:
    """A worker's part of its node's memory, in MB."""
    for one in cluster.nodes():
        if one.get("NodeID") == node:
            has = cast("Mapping[str, float]", one.get("Resources") or {})
            memory, cores = as_number(has.get("memory")), as_number(has.get("CPU"))
            if memory and cores:
                return memory / 2**20 * min(1.0, cpus / cores)
    return _UNKNOWN_MEMORY_MB
