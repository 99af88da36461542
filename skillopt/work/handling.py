"""The worker's half that every executor shares: find the code of a unit, run it, turn what it raised into data."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from skillopt.core.errors import ConfigError, SkillOptError
from skillopt.core.json_types import JsonObject
from skillopt.work.blobs import Blobs
from skillopt.work.errors import WorkFailed

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN_LINES = 12


@dataclass(frozen=True)
class Unit:
    """What a handler learns besides its payload. `guarded`: this process ends with everything it began whatever
    happens to it, so programs need no guard of their own."""

    blobs: Blobs
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    version: str = ""
    guarded: bool = False

    @classmethod
    def of(cls, message: JsonObject, blobs: Blobs) -> Unit:
        """The unit that a driver's request describes. A worker's whole tree is guarded from outside."""
        files = cast("dict[str, str]", message.get("files") or {})
        return cls(blobs, files, str(message.get("version") or ""), guarded=True)

    def place(self, folder: Path) -> None:
        """Write the unit's files below a folder."""
        self.blobs.place(self.files, folder)


class Stepper(Protocol):
    """What the handler of a session returns. A method `close()` is called at the end where there is one."""

    def step(self, payload: JsonObject) -> JsonObject | Awaitable[JsonObject]: ...


Answer: TypeAlias = "JsonObject | Awaitable[JsonObject]"


def handler_of(target: str) -> Callable[[JsonObject, Unit], object]:
    """The function behind `module:function`. Raises `ConfigError` when there is none."""
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"cannot import {module_name!r}: no module {error.name!r}") from error
    found: object = getattr(module, name, None)
    if not callable(found):
        raise ConfigError(f"{module_name} has no function {name!r}")
    return cast("Callable[[JsonObject, Unit], object]", found)


def checked_answer(target: str, answer: object) -> JsonObject:
    """An answer must be a JSON object. Raises `TypeError`."""
    if not isinstance(answer, Mapping):
        raise TypeError(f"{target} returned {type(answer).__name__}, not a mapping")
    return cast("JsonObject", answer)


def failure_of(error: BaseException) -> JsonObject:
    """An exception as data."""
    message, hint = (error.message, error.hint) if isinstance(error, SkillOptError) else (str(error), "")
    import traceback

    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    detail = "\n".join(lines[-_SHOWN_LINES:])
    kind = error.kind if isinstance(error, WorkFailed) else type(error).__name__
    return {"type": kind, "message": message, "hint": hint, "detail": detail}


def raised(failure: JsonObject) -> SkillOptError:
    """The error that stands for a failure on the driver's side."""
    kind, message, hint = str(failure.get("type")), str(failure.get("message")), str(failure.get("hint") or "")
    if kind == "ConfigError":
        return ConfigError(message, hint=hint)
    return WorkFailed(message, kind=kind, detail=str(failure.get("detail") or ""), hint=hint)


def value_of(answer: JsonObject) -> JsonObject:
    """The value of a worker's answer. Raises what the work raised."""
    if "error" in answer:
        raise raised(cast("JsonObject", answer["error"]))
    if "value" not in answer:
        raise WorkFailed("was cancelled by its own worker", kind="cancelled")
    return cast("JsonObject", answer["value"])
