"""Which environments exist: the built-in ones, those that installed packages register under `skillopt.envs`, and any
class that is named by its place (`own`).

An environment is a class called with `(config, settings)`; its `Settings` is the pydantic model of its own keys. A
plugin that cannot be imported says why when it is chosen, and warns when all are asked for. A built-in's name always
means the built-in.
"""

from __future__ import annotations

import difflib
import importlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, ValuesView
from importlib.metadata import EntryPoint
from typing import Any, Protocol, cast

from pydantic import BaseModel, ValidationError

from skillopt.core.errors import ConfigError
from skillopt.core.plugins import entry_points
from skillopt.envs.base import Env, EnvConfig
from skillopt.envs.own import is_place, load_class

GROUP = "skillopt.envs"
BUILT_IN = {
    "searchqa": "skillopt.envs.searchqa.adapter:SearchQAEnv",
    "spreadsheetbench": "skillopt.envs.spreadsheetbench.adapter:SpreadsheetBenchEnv",
    "swebench": "skillopt.envs.swebench.adapter:SWEBenchEnv",
    "alfworld": "skillopt.envs.alfworld.adapter:ALFWorldEnv",
    "officeqa": "skillopt.envs.officeqa.adapter:OfficeQAEnv",
    "triggers": "skillopt.envs.triggers.adapter:TriggerEnv",
    "jsonl": "skillopt.envs.jsonl.adapter:JsonlEnv",
    "sealqa": "skillopt.envs.sealqa.adapter:SealQAEnv",
    "mmrb": "skillopt.envs.mmrb.adapter:MMRBEnv",
    "babyvision": "skillopt.envs.babyvision.adapter:BabyVisionEnv",
    "mathverse": "skillopt.envs.mathverse.adapter:MathVerseEnv",
    "docvqa": "skillopt.envs.docvqa.adapter:DocVQAEnv",
    "livemathematicianbench": "skillopt.envs.livemathematicianbench.adapter:LiveMathEnv",
}


class EnvClass(Protocol):
    """What a registration points at."""

    Settings: type[BaseModel]

    def __call__(self, config: EnvConfig, settings: Any, /) -> Env: ...


class Schemas(Mapping[str, type[BaseModel]]):
    """Name → settings model of every registered environment, and of any place. The names are there at once; a module
    is imported when its own name is asked for, and all of them only for `values`."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._known: dict[str, type[BaseModel]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names or (isinstance(name, str) and is_place(name))

    def __getitem__(self, name: str) -> type[BaseModel]:
        """Raises `ConfigError` for one that cannot be imported, with its own words."""
        if name not in self:
            raise KeyError(name)
        if name not in self._known:
            self._known[name] = env_class(name).Settings
        return self._known[name]

    def values(self) -> ValuesView[type[BaseModel]]:
        """The models of all that can be imported; a broken one warns and is left out."""
        return _Importable(self)

    def having(self, name: str, model: type[BaseModel]) -> Schemas:
        """The same, and `model` for a name that nothing is registered under."""
        if name in self:
            return self
        more = Schemas((*self._names, name))
        more._known = {**self._known, name: model}
        return more


class _Importable(ValuesView[type[BaseModel]]):
    def __init__(self, schemas: Schemas) -> None:
        super().__init__(schemas)
        self._schemas = schemas

    def __iter__(self) -> Iterator[type[BaseModel]]:
        for name in self._schemas:
            try:
                yield self._schemas[name]
            except ConfigError as error:
                warnings.warn(f"environment skipped: {error}", RuntimeWarning, stacklevel=2)


def env_names() -> list[str]:
    """All registered names, sorted; nothing is imported."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def settings_schemas() -> Schemas:
    """Name → model of the environment's own keys; nothing is imported yet."""
    return Schemas(env_names())


def env_class(name: str) -> EnvClass:
    """The class behind a name. Raises `ConfigError` with the choices and the nearest name."""
    if name in BUILT_IN:
        return _import(name, BUILT_IN[name])
    if is_place(name):
        return _checked(name, name, load_class(name))
    points = [point for point in entry_points(group=GROUP) if point.name == name]
    if points:
        return _load(points[0])
    choices = env_names()
    if not name:
        raise ConfigError("env.name is not set", hint=f"choose one of {', '.join(choices)}")
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(f"env.name={name!r} is unknown", hint=f"{hint}known: {', '.join(choices)}")


def create_env(name: str, config: EnvConfig, settings: BaseModel | Mapping[str, Any] | None = None) -> Env:
    """Build an environment. `settings` are its own keys, validated here when they come as a mapping."""
    cls = env_class(name)
    if not isinstance(settings, cls.Settings):
        values = settings.model_dump() if isinstance(settings, BaseModel) else dict(settings or {})
        settings = validated(cls.Settings, values)
    return cls(config, settings)


def validated(model: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    """The settings, or a `ConfigError` that names key, value and the nearest valid key."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(["env", *(str(part) for part in first["loc"])])
        if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
            near = difflib.get_close_matches(str(first["loc"][0]), list(model.model_fields), n=1)
            hint = f"did you mean env.{near[0]}?" if near else f"known: {', '.join(model.model_fields)}"
            raise ConfigError(f"{key} is unknown", hint=hint) from error
        raise ConfigError(f"{key}: {first['msg']}, got {first['input']!r}") from error


def _import(name: str, target: str) -> EnvClass:
    module, _, attribute = target.partition(":")
    try:
        return cast("EnvClass", getattr(importlib.import_module(module), attribute))
    except ImportError as error:
        raise ConfigError(f"environment {name!r} cannot be imported: {error}", hint="reinstall skillopt") from error


def _load(point: EntryPoint) -> EnvClass:
    """Load a plugin. Whatever its import raises is the plugin's fault and is reported as such, with its own words."""
    try:
        loaded = point.load()
    except Exception as error:
        raise ConfigError(
            f"environment {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}",
            hint="reinstall or remove the package that registers it",
        ) from error
    return _checked(point.name, point.value, loaded)


def _checked(name: str, place: str, loaded: object) -> EnvClass:
    settings = getattr(loaded, "Settings", None)
    if not (callable(loaded) and isinstance(settings, type) and issubclass(settings, BaseModel)):
        raise ConfigError(
            f"environment {name!r} ({place}) is no environment class",
            hint="it needs a pydantic model `Settings` and a constructor (config, settings)",
        )
    return cast("EnvClass", loaded)
