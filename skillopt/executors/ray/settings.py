"""What the configuration says about a cluster, as a value that crosses to the process which connects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue


@dataclass(frozen=True)
class RaySettings:
    """`address` blank: a cluster of one's own on this machine, ended with the run. `slots` 0: every core there is."""

    address: str = ""
    namespace: str = "skillopt"
    runtime_env: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    insecure: bool = False
    cpus_per_worker: float = 1.0
    memory_mb: int = 0
    start_seconds: float = 300.0
    slots: int = 0
    lost_after_s: float = 60.0

    def to_json(self) -> JsonObject:
        """For the child process."""
        return cast("JsonObject", asdict(self))

    @classmethod
    def from_json(cls, value: JsonObject) -> RaySettings:
        """What `to_json` said."""
        return cls(**cast("dict[str, str]", dict(value)))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
