"""Backends by name: entry points of the group `skillopt.backends`, loaded when they are asked for.

An entry point is a function `create(settings) -> Backend`, where `settings` is the role's frozen mapping of configured
values. A plugin is loaded when its name is asked for; one that cannot be loaded is
an error that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib.metadata import EntryPoint

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.core.plugins import entry_points
from skillopt.model.types import Backend, BackendSettings

GROUP = "skillopt.backends"
Create = Callable[[JsonObject], Backend]


def backend_names(plugins: Iterable[EntryPoint] | None = None) -> list[str]:
    """Names that can be asked for, sorted; nothing is imported."""
    return sorted({plugin.name for plugin in _plugins(plugins)})


def create_backend(name: str, settings: BackendSettings, *, plugins: Iterable[EntryPoint] | None = None) -> Backend:
    """Make the backend `name`. Raises `ConfigError` naming what is available when there is none of that name."""
    known = list(_plugins(plugins))
    faults: list[str] = []
    for plugin in known:
        if plugin.name == name:
            found = _load(plugin)
            if not isinstance(found, str):
                return found(settings)
            faults.append(found)
    if faults:
        raise ConfigError(f"model backend {name!r}: {'; '.join(faults)}", hint="repair or reinstall its package")
    names = sorted({plugin.name for plugin in known} - {name})
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"unknown model backend {name!r}", hint=f"{hint}available: {', '.join(names) or 'none'}")


def _plugins(given: Iterable[EntryPoint] | None) -> Iterable[EntryPoint]:
    return entry_points(group=GROUP) if given is None else given


def _load(plugin: EntryPoint) -> Create | str:
    """What the entry point names, or why it cannot be loaded."""
    try:
        return plugin.load()
    except Exception as error:  # noqa: BLE001 - importing foreign code may raise anything; the caller raises what it was
        return f"{plugin.value} cannot be loaded: {type(error).__name__}: {error}"
