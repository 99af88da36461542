"""What the configuration knows about each key: names, environment variables, and what a change of it does to a run.

A key is declared once, as a typed field of a section (`schema/`) or of an environment's settings model; its `Key`
mark adds what a type cannot say. Everything else (flags, file loading, export, fingerprint) follows from these marks.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, SecretStr
from pydantic.fields import FieldInfo

Change = Literal["fixed", "grow", "any", "none"]
"""What may happen to a key between two starts of one run: nothing, only growth, any change, or it is not compared."""

SECTIONS = ("model", "train", "gradient", "optimizer", "evaluation", "env", "budget", "executor", "tracking")


@dataclass(frozen=True)
class Key:
    """Mark of a field. `flat` lists the flat names, the exported one first; empty means the field's own name.

    `also` lists older names, with and without the section; they give way to the key's own name in the same layer.
    `env` lists environment variables; several are spellings of one (teacher/student) and must agree. `values` maps
    accepted spellings of a value to the canonical one.
    """

    flat: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    change: Change = "fixed"
    values: Mapping[str, str] = field(default_factory=dict[str, str])


class Section(BaseModel):
    """Base of every section: frozen, nothing undeclared, the docstring under a field is its description."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


@dataclass(frozen=True)
class KeySpec:
    """One key as the rest of the configuration sees it. `path` is `section.name`, the canonical spelling."""

    path: str
    section: str
    name: str
    mark: Key
    kinds: frozenset[str]
    choices: tuple[object, ...]
    default: object
    description: str
    declared: bool = False
    """True for a key that the environment declares."""

    @property
    def flats(self) -> tuple[str, ...]:
        """Flat names, the exported one first."""
        return (*(self.mark.flat or (self.name,)), *self.mark.also)

    @property
    def secret(self) -> bool:
        """Secret values are masked on the screen and left out of every file."""
        return "secret" in self.kinds

    @property
    def nullable(self) -> bool:
        """True when `null` is a value of its own."""
        return "null" in self.kinds


def kinds_of(annotation: object) -> frozenset[str]:
    """The shapes a type accepts: null, bool, int, float, text, secret, list, map, any."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return kinds_of(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return frozenset[str]().union(*(kinds_of(part) for part in get_args(annotation)))
    if origin is Literal:
        return frozenset[str]().union(*(kinds_of(cast("object", type(value))) for value in get_args(annotation)))
    base = origin or annotation
    simple = {type(None): "null", None: "null", bool: "bool", int: "int", float: "float", str: "text"}
    if base in simple:
        return frozenset({simple[base]})
    if isinstance(base, type):
        if issubclass(base, SecretStr):
            return frozenset({"secret"})
        if issubclass(base, (BaseModel, Mapping)):
            return frozenset({"map"})
        if issubclass(base, (Sequence, set, frozenset)):
            return frozenset({"list"})
        if issubclass(base, str):
            return frozenset({"text"})
    return frozenset({"any"})


def choices_of(annotation: object) -> tuple[object, ...]:
    """The values of a `Literal`, through `Annotated` and unions; empty when the type is open."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        parts = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
        return tuple(value for part in parts for value in choices_of(part))
    return ()


def key_spec(section: str, name: str, info: FieldInfo, *, declared: bool = False) -> KeySpec:
    """Read one field. A field without a mark gets the plain one: its own name is the flat name."""
    mark = next((m for m in info.metadata if isinstance(m, Key)), Key())
    default = None if info.is_required() else info.get_default(call_default_factory=True, validated_data={})
    return KeySpec(
        path=f"{section}.{name}",
        section=section,
        name=name,
        mark=mark,
        kinds=kinds_of(info.annotation),
        choices=choices_of(info.annotation),
        default=default,
        description=info.description or "",
        declared=declared,
    )
