"""Backends by name: entry points of the group `skillopt.backends`, loaded when they are asked for.

An entry point is a function `create(settings) -> Backend`, where `settings` is the role's frozen mapping of configured
values. A plugin that cannot be imported warns and is skipped; its name is then as unknown as a misspelt one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points

from skillopt.core.errors import ConfigError
from skillopt.core.json_types import JsonObject
from skillopt.model.types import Backend, BackendSettings

GROUP = "skillopt.backends"
Create = Callable[[JsonObject], Backend]


def backend_names(plugins: Iterable[EntryPoint] | None = None) -> list[str]:
    """Names that can be asked for, sorted; nothing is imported."""
    return sorted({plugin.name for plugin in _plugins(plugins)})


def create_backend(name: str, settings: BackendSettings, *, plugins: Iterable[EntryPoint] | None = None) -> Backend:
    """Make the backend `name`. Raises `ConfigError` naming what is available when there is none of that name."""
    known = list(_plugins(plugins))
    for plugin in known:
        if plugin.name != name:
            continue
        create = _load(plugin)
        if create is not None:
            return create(settings)
    names = sorted({plugin.name for plugin in known} - {name})
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"unknown model backend {name!r}", hint=f"{hint}available: {', '.join(names) or 'none'}")


def _plugins(given: Iterable[EntryPoint] | None) -> Iterable[EntryPoint]:
    return entry_points(group=GROUP) if given is None else given


def _load(plugin: EntryPoint) -> Create | None:
    try:
        return plugin.load()
    except Exception as error:  # noqa: BLE001 - a plugin is foreign code: whatever it raises must not end the run
        warnings.warn(f"model backend {plugin.name!r} ({plugin.value}) cannot be loaded: {error!r}", stacklevel=3)
        return None
