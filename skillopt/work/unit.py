"""One unit of work as a value: JSON and digests only, so that it means the same in every process and machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.core.json_types import JsonObject, JsonValue


@dataclass(frozen=True)
class Needs:
    """What a unit occupies while it runs. `cpu` in cores, `memory_mb` at its largest; `programs` must be on PATH."""

    cpu: float = 1.0
    memory_mb: int = 64
    programs: tuple[str, ...] = ()
    container: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.cpu < float("inf") or self.memory_mb < 0:
            raise ValueError(f"needs must be finite and not negative, got cpu={self.cpu}, memory_mb={self.memory_mb}")


@dataclass(frozen=True)
class Work:
    """What is to be done. `name` is looked up in a registry (or is `module:function`), never a pickled function.

    `files` maps relative paths to digests of blobs (`Executor.put`). `version` names the code that is expected where it
    runs; blank means any. `deadline_s` counts from the start of an attempt, not from the wait for a place; of a
    session it is one step's, and `open_s` is its opening's (None: the same). `attempts` is for work that may not simply
    be done again (None: as often as the executor does).
    """

    name: str
    payload: JsonObject = field(default_factory=dict[str, JsonValue])
    version: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: Needs = Needs()
    deadline_s: float = 3600.0
    open_s: float | None = None
    attempts: int | None = None
