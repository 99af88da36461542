"""Work `python.call`: a function of the user's, `module:function`, called with JSON values.

The module is looked for in the given directories first, then among installed ones. `Work.version` is the digest of the
module's source as the driver saw it: a file that was edited while the run is on is refused, because one run must not
mix two scorers. What the function returns comes back as it is where JSON holds it, else as its text.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import cast

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import text_digest
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.work.handling import Unit


def call(payload: JsonObject, unit: Unit) -> JsonObject | Awaitable[JsonObject]:
    """Payload `{"function", "search", "arguments"}`; answer `{"value"}` or, for what JSON cannot hold, `{"repr"}`."""
    found, version = _loaded(str(payload["function"]), tuple(cast("Sequence[str]", payload["search"])))
    if unit.version and version != unit.version:
        raise ConfigError(
            f"the source of {payload['function']} was changed while the run was on",
            hint="start the run again: with the new source it is another scorer",
        )
    value = found(*cast("Sequence[JsonValue]", payload["arguments"]))
    if hasattr(value, "__await__"):
        return _awaited(cast("Awaitable[object]", value))
    return _answer(value)


async def _awaited(value: Awaitable[object]) -> JsonObject:
    return _answer(await value)


def _answer(value: object) -> JsonObject:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return {"repr": repr(value)}
    return {"value": cast("JsonValue", value)}


@lru_cache(maxsize=64)
def _loaded(function: str, search: tuple[str, ...]) -> tuple[Callable[..., object], str]:
    found = load(function, search)
    return found, source_digest(found)


def load(function: str, search: Sequence[str]) -> Callable[..., object]:
    """The function of `module:function`. Raises `ConfigError` naming what was not found."""
    module_name, _, name = function.partition(":")
    with searched_first(search):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            where = search[0] if search else "the working directory"
            raise ConfigError(
                f"function {function!r}: no module {error.name!r}",
                hint=f"put {module_name}.py into {where} or install it",
            ) from error
    found: object = getattr(module, name, None)
    if not callable(found):
        raise ConfigError(f"function {function!r}: the module has no function {name!r}")
    return found


def source_digest(found: Callable[..., object]) -> str:
    """Digest of the source file of a function; blank where it has none."""
    import inspect  # takes longer than the rest of this file

    try:
        source = inspect.getsourcefile(found)
    except TypeError:
        return ""
    return text_digest(Path(source).read_text(encoding="utf-8")) if source else ""


@contextmanager
def searched_first(directories: Sequence[str]) -> Generator[None]:
    """Import with `directories` in front, and leave the search path as it was."""
    entries = list(directories)
    sys.path[:0] = entries
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in entries:
            sys.path.remove(entry)
