"""Configuration files: `_base_` inheritance, the sectioned and the older flat form, one layer per file.

`_base_` is relative to the file that names it. Files are returned base first. A file is sectioned when any section name
holds a map; flat keys beside sections are still read, and the sectioned spelling wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skillopt.config.keys import SECTIONS
from skillopt.config.sources import shipped
from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.config.sources.yaml_file import YamlFile, read_yaml
from skillopt.core.errors import ConfigError

_FLAT, _SECTIONED = 0, 1
_ALSO_KEYS: Mapping[str, tuple[type, ...]] = {"env": (str,), "executor": (str,), "tracking": (str, list)}
"""Sections whose name is also the flat name of their first key, and what that key is written as."""
_NOTHING: Mapping[str, str] = {"tracking": "tracking.trackers"}
"""The key that is unset where a section is null; any other null section says nothing."""


def load_files(path: Path) -> tuple[Layer, ...]:
    """The layers of a file and of everything it inherits from, base first. Raises `ConfigError`, also for a circle."""
    return tuple(_file_layer(file) for file in reversed(_chain(path)))


def _chain(path: Path) -> list[YamlFile]:
    files: list[YamlFile] = []
    seen: list[Path] = []
    here: Path | None = shipped.found(path)
    while here is not None:
        identity = here.resolve()
        if identity in seen:
            names = " -> ".join(str(file.path) for file in files)
            raise ConfigError(f"_base_ goes round in a circle: {names} -> {here}")
        seen.append(identity)
        file = read_yaml(here)
        files.append(file)
        base: Any = file.content.get("_base_")
        if base is not None and (not isinstance(base, str) or not base.strip()):
            raise ConfigError(f"_base_={base!r} ({file.where('_base_')}): expected the path of one file")
        here = None if base is None else here.parent / base
        if here is not None and not here.is_file():
            raise ConfigError(f"_base_={base} ({file.where('_base_')}): there is no file {here}")
    return files


def _file_layer(file: YamlFile) -> Layer:
    return Layer("file", tuple(_entries(file)))


def _entries(file: YamlFile) -> Iterator[Raw]:
    for name, value in file.content.items():
        if name == "_base_":
            continue
        if name in SECTIONS and isinstance(value, Mapping):
            section: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
            for key, inner in section.items():
                yield Raw(f"{name}.{key}", inner, Origin("file", file.where(name, str(key))), form=_SECTIONED)
        elif name in SECTIONS and value is None:
            if name in _NOTHING:
                yield Raw(_NOTHING[name], None, Origin("file", file.where(name)), form=_SECTIONED)
        elif name in SECTIONS and not isinstance(value, _ALSO_KEYS.get(name, ())):
            raise ConfigError(f"{name} ({file.where(name)}): expected a section with keys")
        else:
            yield Raw(name, value, Origin("file", file.where(name)), form=_FLAT)
