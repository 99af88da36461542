"""Where a setting comes from: flag > environment > `per_project` > file > default.

The file is JSON, `--config FILE` or `config.json` in the state directory; settings for one project stand in it under
`per_project: {"<absolute path>": {…}}`. A file inside a repository is never read: it may be hostile, and `test_command`
runs code. A broken file is an error, never a reason to go on with defaults.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_object, parse_json
from skillopt.sleep.errors import SettingsError
from skillopt.sleep.settings.schema import DEFAULTS, FACTS, Settings
from skillopt.sleep.settings.values import Value, canonical, checked, from_text
from skillopt.sleep.state.paths import state_root

CONFIG_VARIABLE = "SKILLOPT_SLEEP_CONFIG"
_OPENCODE = "OPENCODE_DB"


@dataclass(frozen=True)
class Resolved:
    """Settings, and for each key the words that say where its value came from."""

    settings: Settings
    origins: Mapping[str, str]
    config_path: Path | None
    """The file that was read, if any."""


def resolve(flags: Mapping[str, JsonValue], environ: Mapping[str, str], cwd: Path, *, config: str = "") -> Resolved:
    """The settings of one command.

    `flags` holds the keys that were given on the command line, by key; texts there are read by the key's type.
    """
    given = {name: _flag(name, value) for name, value in flags.items()}
    path = _config_path(given, environ, config)
    file = _read(path) if path else {}
    values: dict[str, Value] = {}
    origins = dict.fromkeys(FACTS, "default")
    environment = _environment(environ)
    project = _project(given, file, cwd)

    def put(name: str, value: Value, origin: str) -> None:
        values[name], origins[name] = value, origin

    for name, value in _layer({k: v for k, v in file.items() if k != "per_project"}, str(path)).items():
        put(name, value, f"file {path}")
    for name, value in _layer(_own(file, project, path), f"{path}, per_project").items():
        put(name, value, f"per_project in {path}")
    for name, (value, variable) in environment.items():
        put(name, value, f"environment {variable}")
    for name, value in given.items():
        put(name, value, "flag")
    if not values.get("invoked_project"):
        put("invoked_project", str(cwd), "working directory")
    values["state_dir"] = str(Path(str(values.get("state_dir") or state_root(environ))))
    settings = replace(DEFAULTS, **_expanded(values))
    if settings.val_fraction + settings.test_fraction >= 1:
        raise SettingsError(
            f"val_fraction {settings.val_fraction:g} and test_fraction {settings.test_fraction:g} leave no train tasks",
            hint="their sum must be below 1",
        )
    if origins["gate_max_repeats"] == "default":  # --repeats alone may pass it
        settings = replace(settings, gate_max_repeats=max(settings.gate_max_repeats, settings.gate_repeats))
    if settings.gate_max_repeats < settings.gate_repeats:
        raise SettingsError(
            f"gate_max_repeats {settings.gate_max_repeats} is below gate_repeats {settings.gate_repeats}"
        )
    _check_scope(settings.projects, origins["projects"])
    return Resolved(settings, origins, path)


def _check_scope(projects: tuple[str, ...], origin: str) -> None:
    if projects in (("invoked",), ("all",)) or (projects and all(os.path.isabs(path) for path in projects)):
        return
    raise SettingsError(f"{origin}: projects is {list(projects)!r}",
                        hint="it must be 'invoked', 'all', or a list of absolute paths")  # fmt: skip


def backend_model(settings: Settings, environ: Mapping[str, str], backend: str) -> str:
    """The model for a backend: `model`, else `SKILLOPT_SLEEP_<BACKEND>_MODEL`, else blank (the backend's choice)."""
    return settings.model or environ.get(f"SKILLOPT_SLEEP_{backend.upper()}_MODEL", "")


def _flag(name: str, value: JsonValue) -> Value:
    where = f"--{name.replace('_', '-')}"
    return from_text(name, value, where) if isinstance(value, str) else checked(name, value, where)


def _config_path(given: Mapping[str, Value], environ: Mapping[str, str], config: str) -> Path | None:
    named = config or environ.get(CONFIG_VARIABLE, "")
    path = Path(named).expanduser() if named else state_root(environ, str(given.get("state_dir") or "")) / "config.json"
    if path.is_file():
        return path
    if named:
        raise SettingsError(f"there is no configuration file {path}", hint="check --config or SKILLOPT_SLEEP_CONFIG")
    return None


def _read(path: Path) -> dict[str, JsonValue]:
    try:
        value = parse_json(path.read_bytes())
    except (ValueError, RecursionError) as fault:
        raise SettingsError(f"{path} is not JSON ({fault})", hint="repair or remove it; nothing was run") from fault
    except OSError as fault:
        raise SettingsError(f"cannot read {path}: {fault.strerror or fault}") from fault
    if not isinstance(value, dict):
        raise SettingsError(f"{path} must hold one JSON object")
    return value


def _layer(entries: JsonObject, where: str) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for written, value in entries.items():
        name = canonical(written, where)
        if name in found:
            raise SettingsError(f"{where}: {name} is given twice, once under another name")
        found[name] = checked(name, value, where, written=written)
    return found


def _project(given: Mapping[str, Value], file: JsonObject, cwd: Path) -> str:
    said = given.get("invoked_project") or file.get("invoked_project") or cwd
    return os.path.realpath(Path(str(said)).expanduser())


def _own(file: JsonObject, project: str, path: Path | None) -> dict[str, JsonValue]:
    sections = file.get("per_project", {})
    if not isinstance(sections, dict) or not all(isinstance(section, dict) for section in sections.values()):
        raise SettingsError(f"{path}: per_project must hold one object per absolute path")
    own: dict[str, JsonValue] = {}
    for name, section in sections.items():
        if not os.path.isabs(os.path.expanduser(name)):
            raise SettingsError(f"{path}: per_project {name!r} is not an absolute path")
        if os.path.realpath(os.path.expanduser(name)) == project:
            own.update(as_object(section))
        else:
            _layer(as_object(section), f"{path}, per_project")
    return own


def _environment(environ: Mapping[str, str]) -> dict[str, tuple[Value, str]]:
    found: dict[str, tuple[Value, str]] = {}
    for name, facts in FACTS.items():
        if facts.variable and environ.get(facts.variable):
            found[name] = (from_text(name, environ[facts.variable], facts.variable), facts.variable)
    return found


def _expanded(values: Mapping[str, Value]) -> dict[str, JsonValue]:
    """Values with `~` resolved, defaults that are paths included."""
    full = dict(values)
    for name, facts in FACTS.items():
        default = getattr(DEFAULTS, name)
        if facts.path and name not in full and isinstance(default, str) and default.startswith("~"):
            full[name] = str(Path(default).expanduser())
    return cast("dict[str, JsonValue]", full)
