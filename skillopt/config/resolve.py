"""From layers to one frozen configuration with the origin of every value.

Precedence is flag (or Python argument) > environment variable > file > default, among files the child beats the base. A
blank text in a file counts as not set, except where blank is a listed value. A backend chosen by a higher layer
replaces role backends of the layers below it, and replaces their stock models by its own default. The process's
environment is not read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ValidationError

from skillopt.config import backends
from skillopt.config.keys import KeySpec
from skillopt.config.schema.root import SECTION_MODELS, Config, NoSettings
from skillopt.config.sources.addresses import derive_backend
from skillopt.config.sources.ambient import keep_home
from skillopt.config.sources.environment import read_environment
from skillopt.config.sources.files import load_files
from skillopt.config.sources.layers import Layer, Origin, Raw, Setting, Settled, deep_merge, settle
from skillopt.config.sources.overrides import Overrides
from skillopt.config.suggestions import nearest
from skillopt.config.table import Found, KeyTable, shared_specs, table_for
from skillopt.config.unsupported_keys import NOT_BUILT
from skillopt.config.values import check_kind, explain
from skillopt.core.errors import ConfigError

_RANK = {"default": 0, "file": 1, "environment": 2, "flag": 3, "argument": 3}
ROLES = ("optimizer", "target", "judge")


@dataclass(frozen=True)
class Resolved:
    """The configuration, where each of its values came from, and what the user should be told."""

    config: Config
    origins: Mapping[str, Origin]
    """By canonical key, `section.name`."""
    notices: tuple[str, ...]


def load_config(
    path: str | Path,
    *,
    overrides: Overrides | None = None,
    environ: Mapping[str, str],
    env_schemas: Mapping[str, type[BaseModel]],
    preset: Layer | None = None,
) -> Resolved:
    """Resolve a configuration file with the overrides of a command line and the given environment variables. A `preset`
    stands above file and variables and below the overrides.

    `env_schemas` maps each environment's name to its settings model. Raises `ConfigError`, one line.
    """
    layers = [*load_files(Path(path)), read_environment(environ)]
    if preset is not None:
        layers.append(preset)
    if overrides is not None:
        layers.append(overrides.layer())
    return resolve(layers, env_schemas)


def resolve(layers: Sequence[Layer], env_schemas: Mapping[str, type[BaseModel]]) -> Resolved:
    """Resolve layers, lowest first. Raises `ConfigError`."""
    name = _environment_name(layers, env_schemas)
    table = table_for(name, env_schemas)
    graders = [raw for layer in layers for raw in layer.entries if raw.only_env]
    layers = [replace(layer, entries=tuple(raw for raw in layer.entries if not raw.only_env)) for layer in layers]
    settled = [settle(layer, table) for layer in layers]
    merged = _without_blanks(_merge(settled), table)
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    for spec in table:
        setting = merged.get(spec.path) or Setting(spec.default, Origin("default"))
        values[spec.path], origins[spec.path] = setting.value, setting.origin
    notices = [notice for one in settled for notice in one.notices]
    if idle := list(dict.fromkeys(key for one in settled for key in one.idle)):
        notices.append(f"no effect in this version: {', '.join(idle)}")
    for role in ROLES:
        notices += derive_backend(role, values, origins)
    for one in settled:
        _take_conditional(one, values, origins)
    _take_grader([raw for raw in graders if raw.only_env == name], values, origins)
    for role in ROLES:
        notices += _fill_model(role, values, origins, merged)
    _tell_backend(values, origins)
    notices += keep_home(values, origins)
    notices += _imply_split_mode(values, origins)
    given = {path for path in values if path in merged or not table[path].declared}
    config = _build(table, values, origins, given, env_schemas.get(name, NoSettings))
    return Resolved(config, origins, tuple(dict.fromkeys(notices)))


def _environment_name(layers: Sequence[Layer], schemas: Mapping[str, type[BaseModel]]) -> str:
    """`env.name` decides which further keys exist, so it is looked up before anything else."""
    table = KeyTable(shared_specs())
    name, where = "", ""
    for layer in layers:
        for raw in sorted(layer.entries, key=lambda entry: entry.form):
            found = table.find(raw.name)
            if isinstance(found, Found) and found.spec.path == "env.name" and raw.value not in ("", None):
                name, where = str(raw.value), str(raw.origin)
    available = f"available: {', '.join(sorted(schemas))}"
    if not name:
        raise ConfigError("env.name is missing: which environment to train on", hint=available)
    if name in schemas:
        return name
    if name in NOT_BUILT.environments:
        raise ConfigError(
            f"env.name={name} ({where}): this environment is not available in this version", hint=available
        )
    raise ConfigError(f"env.name={name} ({where}): unknown environment{nearest(name, schemas)}", hint=available)


def _merge(settled: Sequence[Settled]) -> dict[str, Setting]:
    merged: dict[str, Setting] = {}
    for rank, one in enumerate(settled):
        for path, found in one.settings.items():
            setting = replace(found, rank=rank)
            below = merged.get(path)
            if setting.merge and below is not None:
                setting = replace(setting, value=deep_merge(below.value, setting.value))
            merged[path] = setting
    return merged


def _without_blanks(merged: Mapping[str, Setting], table: KeyTable) -> dict[str, Setting]:
    def is_set(spec: KeySpec, setting: Setting) -> bool:
        value = setting.value
        if setting.origin.kind == "file" and value == "" and not _blank_is_a_value(spec):
            return False
        return value is not None or spec.nullable or "any" in spec.kinds

    return {path: setting for path, setting in merged.items() if is_set(table[path], setting)}


def _blank_is_a_value(spec: KeySpec) -> bool:
    """Where null can say "not set", or the key is an environment's own, a blank text means itself."""
    return spec.declared or "" in spec.choices or {"text", "null"} <= spec.kinds


def _take_conditional(one: Settled, values: dict[str, object], origins: dict[str, Origin]) -> None:
    """A variable that holds for one backend only. It yields to a flag and to the general variable of the same key."""
    for backend, settings in one.conditional.items():
        for path, setting in settings.items():
            role = path.partition(".")[2]
            uses = values[f"model.{role}_backend"] == backend
            if uses and _RANK[origins[path].kind] < _RANK[setting.origin.kind]:
                values[path], origins[path] = setting.value, setting.origin


def _take_grader(graders: Sequence[Raw], values: dict[str, object], origins: dict[str, Origin]) -> None:
    """A benchmark's own variable for its judge's model, at the backend that the judge is reached by."""
    backend = values["model.judge_backend"] or values["model.optimizer_backend"]
    for raw in graders:
        if raw.only_backend == backend and _RANK[origins[raw.name].kind] < _RANK[raw.origin.kind]:
            values[raw.name], origins[raw.name] = raw.value, raw.origin
            return


def _tell_backend(values: dict[str, object], origins: dict[str, Origin]) -> None:
    """Once spread, the shorthand only says what both roles use; with two different backends it says nothing."""
    optimizer, target = values["model.optimizer_backend"], values["model.target_backend"]
    if values["model.backend"] != optimizer or optimizer != target:
        values["model.backend"] = optimizer if optimizer == target else ""
        origins["model.backend"] = Origin("default", "from the roles")


def _imply_split_mode(values: dict[str, object], origins: dict[str, Origin]) -> list[str]:
    """Data named by a higher layer than the mode say which mode is meant: `--split_dir X` is not ignored by a file that
    cuts by ratio."""
    for path, mode in (("env.split_dir", "split_dir"), ("env.data_path", "ratio")):
        above = _RANK[origins[path].kind] > _RANK[origins["env.split_mode"].kind]
        if values[path] and above and values["env.split_mode"] != mode:
            origins["env.split_mode"] = Origin(origins[path].kind, f"implied by {path}")
            values["env.split_mode"] = mode
            return [f"env.split_mode is {mode}, because {path} is given ({origins[path]})"]
    return []


def _fill_model(
    role: str, values: dict[str, object], origins: dict[str, Origin], merged: Mapping[str, Setting]
) -> list[str]:
    """Give a role without a model the default one of its backend."""
    path, chooser = f"model.{role}", f"model.{role}_backend"
    backend, model, origin = values[chooser], values[path], origins[path]
    if not backend:  # a judge without a backend of its own is the optimizer's model, or another one at its backend
        return []
    standard = backends.default_model(
        str(backend), local_model=str(values["model.local_model"]), minimax_model=str(values["model.minimax_model"])
    )
    if not model:
        values[path], origins[path] = standard, Origin("default", f"default of {backend}")
        return []
    stale = origin.kind == "file" and chooser in merged and merged[chooser].rank > merged[path].rank
    if stale and model in backends.STOCK_MODELS and model != standard and backend != "openai_chat":
        values[path], origins[path] = standard, Origin("default", f"default of {backend}")
        return [f"{path}: {model} ({origin}) gives way to {standard}, the default of {backend} ({origins[chooser]})"]
    return []


def _build(
    table: KeyTable,
    values: Mapping[str, object],
    origins: Mapping[str, Origin],
    given: set[str],
    settings_model: type[BaseModel],
) -> Config:
    specs = [spec for spec in table if spec.path in given]
    for spec in specs:
        check_kind(spec, values[spec.path], where=str(origins[spec.path]))
    parts: dict[str, BaseModel] = {
        section: _validated(
            model, {s.name: s for s in specs if s.section == section and not s.declared}, values, origins
        )
        for section, model in SECTION_MODELS.items()
    }
    shared_too = set(settings_model.model_fields) & set(SECTION_MODELS["env"].model_fields)
    own = {s.name: s for s in specs if s.section == "env" and (s.declared or s.name in shared_too)}
    parts["env_settings"] = _validated(settings_model, own, values, origins)
    return Config.model_validate(parts)


def _validated(
    model: type[BaseModel], specs: Mapping[str, KeySpec], values: Mapping[str, object], origins: Mapping[str, Origin]
) -> BaseModel:
    try:
        return model.model_validate({name: values[spec.path] for name, spec in specs.items()})
    except ValidationError as error:
        # The chain is cut: the schema's own error would show values, secrets among them.
        name = next((str(e["loc"][0]) for e in error.errors() if e["loc"] and e["loc"][0] in specs), "")
        if name:
            path = specs[name].path
            raise explain(specs[name], values[path], error, where=str(origins[path])) from None
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        key = f"env.{where}" if where else "env"
        raise ConfigError(f"{key}: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
