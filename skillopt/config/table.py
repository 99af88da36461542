"""The table of all keys of one configuration: the shared sections plus what the chosen environment declares.

`find` understands every spelling: dotted and flat names, teacher/student for optimizer/target, and paths into a key
that holds a map (`env.scorer.tolerance`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydantic import BaseModel

from skillopt.config.keys import SECTIONS, KeySpec, key_spec
from skillopt.config.schema.root import SECTION_MODELS
from skillopt.config.suggestions import nearest
from skillopt.config.unsupported_keys import NOT_BUILT, Absent

_ROLE_ALIASES = (("teacher", "optimizer"), ("student", "target"))


@dataclass(frozen=True)
class Found:
    """A key. `spelling` is the role word used (optimizer, teacher …) or empty; `rest` leads into a map; `older` is True
    for one of the key's older names."""

    spec: KeySpec
    spelling: str = ""
    rest: tuple[str, ...] = ()
    older: bool = False


@dataclass(frozen=True)
class Unknown:
    """No such key."""

    nearest: str
    hint: str = ""


def _canonical_name(name: str) -> tuple[str, str]:
    """(name with optimizer/target, the role word that was used)."""
    for old, new in _ROLE_ALIASES:
        if match := re.fullmatch(rf"{old}((?:_.*)?)", name):
            return f"{new}{match[1]}", old
        if re.fullmatch(rf"{new}(?:_.*)?", name):
            return name, new
    return name, ""


@lru_cache(maxsize=1)
def shared_specs() -> tuple[KeySpec, ...]:
    """Keys of the shared sections, in the order of the schema."""
    return tuple(
        key_spec(section, name, info)
        for section, model in SECTION_MODELS.items()
        for name, info in model.model_fields.items()
    )


def declared_specs(settings: type[BaseModel] | None) -> tuple[KeySpec, ...]:
    """Keys that an environment adds. A shared key it declares again stays shared; it receives the same value."""
    shared = {spec.path for spec in shared_specs()}
    fields = settings.model_fields if settings else {}
    every = (key_spec("env", name, info, declared=True) for name, info in fields.items())
    return tuple(spec for spec in every if spec.path not in shared)


class KeyTable:
    """Lookup over a set of keys. Immutable."""

    def __init__(self, specs: Iterable[KeySpec], *, environment: str = "") -> None:
        self._by_path: dict[str, KeySpec] = {}
        self._by_flat: dict[str, KeySpec] = {}
        self._environment = environment
        for spec in specs:
            # Two environments may declare one name; the first stands for both until one of them is chosen.
            self._by_path.setdefault(spec.path, spec)
            for flat in spec.flats:
                owner = self._by_flat.setdefault(flat, spec)
                if owner.path != spec.path:
                    raise ValueError(f"the flat name {flat} belongs to both {owner.path} and {spec.path}")

    def __iter__(self) -> Iterator[KeySpec]:
        return iter(self._by_path.values())

    def __getitem__(self, path: str) -> KeySpec:
        return self._by_path[path]

    def find(self, name: str) -> Found | Absent | Unknown:
        """The key that `name` spells, a known one that this version lacks, or the nearest valid name."""
        if "." not in name:
            return self._find_flat(name)
        section, _, tail = name.partition(".")
        parts = tail.split(".")
        key, word = _canonical_name(parts[0])
        spec = self._by_path.get(f"{section}.{key}")
        if spec and (len(parts) == 1 or "map" in spec.kinds or "any" in spec.kinds):
            return Found(spec, word, tuple(parts[1:]))
        flat = self._by_flat.get(key)
        if flat and flat.section == section and len(parts) == 1 and key in flat.mark.also:
            return Found(flat, word, older=True)
        if absent := NOT_BUILT.keys.get(f"{section}.{key}"):
            return absent
        return self._unknown_dotted(name, section, parts[0])

    def _find_flat(self, name: str) -> Found | Absent | Unknown:
        key, word = _canonical_name(name)
        if spec := self._by_flat.get(key):
            return Found(spec, word, older=key in spec.mark.also)
        if absent := NOT_BUILT.keys.get(key):
            return absent
        if key in SECTIONS:
            return Unknown(f", {key} is a section", hint=f"its keys are written {key}.<key>")
        near = nearest(name, (*self._by_flat, *SECTIONS))
        return Unknown(near, "" if near else self._hint())

    def _unknown_dotted(self, name: str, section: str, key: str) -> Unknown:
        if section not in SECTIONS:
            return Unknown(nearest(name, self._by_path), hint=f"sections: {', '.join(SECTIONS)}")
        if spec := self._by_flat.get(_canonical_name(key)[0]):
            return Unknown(f", nearest: {spec.path}")
        inside = [spec.path for spec in self if spec.section == section]
        close = nearest(f"{section}.{key}", inside, cutoff=0.75) or nearest(name, self._by_path, cutoff=0.75)
        return Unknown(close, self._hint() if section == "env" and not close else "")

    def _hint(self) -> str:
        if not self._environment:
            return ""
        declared = [spec.name for spec in self if spec.declared]
        own = f": {', '.join(declared)}" if declared else " nothing"
        return f"the environment {self._environment} declares{own}"


def table_for(name: str, schemas: Mapping[str, type[BaseModel]]) -> KeyTable:
    """Shared keys and those of one environment."""
    return KeyTable((*shared_specs(), *declared_specs(schemas.get(name))), environment=name)


def table_for_any(schemas: Mapping[str, type[BaseModel]]) -> KeyTable:
    """Shared keys and those of all environments, for reading a command line before the environment is known."""
    return KeyTable((*shared_specs(), *(spec for model in schemas.values() for spec in declared_specs(model))))
