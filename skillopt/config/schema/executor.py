"""The section `executor`: where work besides model calls is done. None of it can change a result."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from skillopt.config.keys import Key, Section
from skillopt.config.schema.role_section import Options


class ExecutorSection(Section):
    """Where scorers of your own, commands and agent programs run."""

    kind: Annotated[Literal["inline", "local", "ray"], Key(flat=("executor",), change="any")] = "local"
    """local: in worker processes of this machine; inline: in the process of the run itself, for debuggers; ray: on the
    nodes of a Ray cluster (extra `ray`)."""
    slots: Annotated[Annotated[int, Field(ge=0)], Key(flat=("executor_slots",), change="any")] = 0
    """Cores that work may take at once; 0 for those of this machine, or of the cluster."""
    attempts: Annotated[Annotated[int, Field(ge=1)], Key(flat=("executor_attempts",), change="any")] = 3
    """Attempts at a piece of work whose worker is lost (killed, crashed, frozen) before it counts as missing."""
    lost_after_seconds: Annotated[
        Annotated[float, Field(gt=0)], Key(flat=("executor_lost_after_seconds",), change="any")
    ] = 60
    """Seconds after which a stopped worker process counts as lost, or one on a node that gives no sign of life."""
    credentials: Annotated[Literal["proxy", "node", "send"], Key(flat=("executor_credentials",), change="any")] = (
        "proxy"
    )
    """How an agent program on a Ray cluster reaches its model. proxy: through this run's model proxy, with a token that
    is good for one unit, and the key stays here; node: by the program's login on the node; send: its key goes along
    with each unit, for which a cluster at an address has to use TLS (RAY_USE_TLS=1)."""
    proxy_address: Annotated[str, Key(flat=("executor_proxy_address",), change="any")] = ""
    """Where the model proxy listens and nodes reach it, `HOST` or `HOST:PORT`, an address of this machine; blank: the
    one from which this machine reaches the cluster's head, at a free port."""
    proxy_width: Annotated[Annotated[int, Field(ge=0)], Key(flat=("executor_proxy_width",), change="any")] = 0
    """Model calls of all agent programs at once through the proxy; 0: as many as `env.workers`."""
    ray_address: Annotated[str, Key(flat=("executor_ray_address",), change="any")] = ""
    """Address of a running Ray cluster, `host:6379`; blank starts one on this machine, for this run."""
    ray_namespace: Annotated[str, Key(flat=("executor_ray_namespace",), change="any")] = "skillopt"
    """Ray's namespace; the runs of one namespace share a cluster fairly."""
    ray_runtime_env: Annotated[Options, Key(flat=("executor_ray_runtime_env",), change="any")] = Field(
        default_factory=dict[str, Any]
    )
    """Ray's `runtime_env` of the workers, for example `{working_dir: .}`, which sends a project's scorers along."""
    ray_labels: Annotated[dict[str, str], Key(flat=("executor_ray_labels",), change="any")] = Field(
        default_factory=dict[str, str]
    )
    """Labels that a node must have to be given work."""
    ray_insecure: Annotated[bool, Key(flat=("executor_ray_insecure",), change="any")] = False
    """Use a cluster that asks for no token, where whoever reaches it runs programs as you."""
    ray_cpus_per_worker: Annotated[
        Annotated[float, Field(gt=0)], Key(flat=("executor_ray_cpus_per_worker",), change="any")
    ] = 1
    """Cores that one worker on a node reserves."""
    ray_memory_mb: Annotated[Annotated[int, Field(ge=0)], Key(flat=("executor_ray_memory_mb",), change="any")] = 0
    """Memory that one worker reserves; 0 reserves none and takes its cores' part of the node's."""
    ray_start_seconds: Annotated[
        Annotated[float, Field(gt=0)], Key(flat=("executor_ray_start_seconds",), change="any")
    ] = 300
    """Seconds within which the cluster must be connected."""
