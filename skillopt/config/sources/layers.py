"""Layers: what one file, the environment or the command line says, before any of it is believed.

Every source becomes a `Layer` of raw entries. `settle` turns one layer into settings by canonical key: role aliases
are resolved, contradictions inside the layer refused, the `backend` shorthand spread over the roles. Layers are then
merged, lowest first. An unknown key is told here, with the nearest name that `config.table` finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from skillopt.config import backends
from skillopt.config.keys import KeySpec
from skillopt.config.table import KeyTable, Unknown
from skillopt.config.unsupported_keys import NOT_BUILT, Absent, is_off
from skillopt.config.values import from_text
from skillopt.core.errors import ConfigError

BACKEND_KEYS = ("model.backend", "model.optimizer_backend", "model.target_backend", "model.judge_backend")
LayerKind = Literal["default", "file", "environment", "flag", "argument"]


@dataclass(frozen=True)
class Origin:
    """Where a value came from: the kind of layer, and the place in it."""

    kind: LayerKind
    where: str = ""

    def __str__(self) -> str:
        if self.kind in ("file", "default"):
            return self.where or self.kind
        return f"{self.kind} {self.where}".rstrip()


@dataclass(frozen=True)
class Raw:
    """One entry as written. `form` orders the forms of one layer: where two say the same key, the higher one wins."""

    name: str
    value: object = field(repr=False)
    origin: Origin
    form: int = 0
    only_backend: str = ""
    """The entry counts only where the role uses this backend."""
    only_env: str = ""
    """The entry counts only in this environment."""

    @property
    def is_text(self) -> bool:
        """Text from a command line or a variable, which the field's type turns into a value."""
        return self.origin.kind in ("flag", "environment")


@dataclass(frozen=True)
class Layer:
    """The entries of one source, in the order written."""

    kind: LayerKind
    entries: tuple[Raw, ...] = ()


@dataclass(frozen=True)
class Setting:
    """A value for one canonical key. `merge` says that a map is laid over the lower one, not put in its place."""

    value: object = field(repr=False)
    origin: Origin
    spelling: str = ""
    form: int = 0
    merge: bool = False
    rank: int = -1
    """Place of the layer, the lowest first."""
    older: bool = False
    """Given under an older name, which yields to the key's own."""


@dataclass(frozen=True)
class Settled:
    """One layer by canonical key, what it says only for one backend, and what the user should be told."""

    settings: Mapping[str, Setting]
    conditional: Mapping[str, Mapping[str, Setting]]
    """By backend, then by key: what counts only where a role uses that backend."""
    notices: tuple[str, ...]
    idle: tuple[str, ...]
    """Keys given without effect in this version."""


def deep_merge(below: object, above: object) -> object:
    """`above` laid over `below`: maps key by key, anything else replaced.

    A map that carries another `name` is another thing, whose options would not fit: it replaces the one below.
    """
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    if above.get("name", below.get("name")) != below.get("name"):  # pyright: ignore[reportUnknownMemberType]
        return above  # pyright: ignore[reportUnknownVariableType]
    merged: dict[str, object] = {**below}
    for key, value in above.items():  # pyright: ignore[reportUnknownVariableType]
        merged[str(key)] = deep_merge(merged.get(str(key)), value)  # pyright: ignore[reportUnknownArgumentType]
    return merged


def settle(layer: Layer, table: KeyTable) -> Settled:
    """Canonical settings of one layer. Raises `ConfigError` for unknown, refused or contradictory entries."""
    settings: dict[str, Setting] = {}
    conditional: dict[str, dict[str, Setting]] = {}
    notices: list[str] = []
    idle: list[str] = []
    for raw in layer.entries:
        found = table.find(raw.name)
        if isinstance(found, Unknown):
            raise ConfigError(f"unknown key {raw.name} ({raw.origin}){found.nearest}", hint=found.hint)
        if isinstance(found, Absent):
            _take_absent(found, raw, notices, idle)
            continue
        spec, spelling, rest = found.spec, found.spelling, found.rest
        if spec.secret and layer.kind == "flag":
            notices.append(
                f"{raw.origin.where}: a secret on the command line is visible to other programs and deprecated"
                + (f"; set {spec.mark.env[0]} instead" if spec.mark.env else "")
            )
        setting = replace(_setting(spec, raw, spelling, rest), older=found.older)
        if spec.path in BACKEND_KEYS and setting.value in ("", None):
            # A blank backend says nothing, so that a choice of a lower layer keeps its effect.
            continue
        _add(conditional.setdefault(raw.only_backend, {}) if raw.only_backend else settings, spec, setting)
    _spread_shorthand(settings)
    return Settled(settings, conditional, tuple(notices), tuple(idle))


def _take_absent(absent: Absent, raw: Raw, notices: list[str], idle: list[str]) -> None:
    if absent.kind == "retired":
        notices.append(f"{absent.path} ({raw.origin}): {absent.message}")
    elif absent.kind == "foreign":
        raise ConfigError(
            f"{absent.path} ({raw.origin}): this key belongs to {absent.message}, not available in this version",
            hint="leave it out",
        )
    elif absent.kind == "parameter":
        if not is_off(raw.value):
            idle.append(absent.path)
    elif not is_off(raw.value):
        raise ConfigError(
            f"{absent.path}={_plain(raw.value)} ({raw.origin}): not available in this version",
            hint="leave it out or switch it off",
        )


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _setting(spec: KeySpec, raw: Raw, spelling: str, rest: tuple[str, ...]) -> Setting:
    value = raw.value
    if isinstance(value, str) and raw.is_text:
        value = from_text(spec, value, where=str(raw.origin), inside=bool(rest))
    if isinstance(value, str) and not rest:
        value = spec.mark.values.get(value.strip().lower(), value)
        if value in NOT_BUILT.values.get(spec.path, ()):
            raise ConfigError(
                f"{spec.path}={value} ({raw.origin}): not available in this version",
                hint=f"available: {', '.join(map(str, spec.choices))}",
            )
    if spec.path in BACKEND_KEYS and value not in ("", None):
        value = backends.canonical(value, key=spec.path, where=str(raw.origin))
    shaped: object = value
    for part in reversed(rest):
        shaped = {part: shaped}
    merge = bool(rest) or (raw.origin.kind == "file" and isinstance(shaped, Mapping))
    return Setting(value=cast("object", shaped), origin=raw.origin, spelling=spelling, form=raw.form, merge=merge)


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping)


def _add(settings: dict[str, Setting], spec: KeySpec, new: Setting) -> None:
    old = settings.get(spec.path)
    if old is None:
        settings[spec.path] = new
        return
    if old.older != new.older:
        # What is given under the key's own name counts, unless it is blank.
        own, older = (old, new) if new.older else (new, old)
        settings[spec.path] = older if own.value in ("", None) else own
        return
    # A file cannot say one spelling twice, so what meets there in one form are two spellings.
    two_spellings = old.spelling != new.spelling or (new.origin.kind == "file" and old.form == new.form)
    if two_spellings and old.value != new.value and not new.merge:
        shown = "" if spec.secret else f" {old.value!r} and {new.value!r}"
        raise ConfigError(
            f"{spec.path} is given twice with different values{shown} ({old.origin} and {new.origin})",
            hint="keep one of them",
        )
    if new.merge and _is_map(old.value):
        settings[spec.path] = replace(new, value=deep_merge(old.value, new.value), merge=old.merge)
    elif new.form >= old.form:
        settings[spec.path] = new


def _spread_shorthand(settings: dict[str, Setting]) -> None:
    """Within one layer a role's key beats the shorthand."""
    chosen = settings.get("model.backend")
    if chosen is None:
        return
    shorthand = backends.shorthand(str(chosen.value))
    origin = replace(chosen.origin, where=f"{chosen.origin.where} (backend)".strip())
    for key, value in (
        ("model.optimizer_backend", shorthand.optimizer),
        ("model.target_backend", shorthand.target),
    ):
        if key not in settings:
            settings[key] = Setting(value=value, origin=origin)
