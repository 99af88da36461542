"""Which changes of a configuration a run directory accepts when the run is started again.

`fixed` keys can change the result and must not move. `extendable` keys may: more epochs, a larger budget, other
concurrency, timeouts and endpoints. Secrets and the place of the run directory are no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, cast

from pydantic import BaseModel

from skillopt.config.export import public_values
from skillopt.config.schema.root import Config, NoSettings
from skillopt.config.table import declared_specs, shared_specs


class Fingerprint(TypedDict):
    """JSON-serialisable; kept in the run directory. Keys are canonical (`section.name`)."""

    fixed: dict[str, Any]
    extendable: dict[str, Any]


@dataclass(frozen=True)
class ChangedKey:
    """One difference. `allowed` ones extend the run or cannot change its result."""

    key: str
    old: Any
    new: Any
    allowed: bool

    def __str__(self) -> str:
        return f"{self.key}: {_text(self.old)} -> {_text(self.new)}"


def fingerprint_fields(config: Config) -> Fingerprint:
    """Everything of a configuration that is compared between two starts."""
    out = Fingerprint(fixed={}, extendable={})
    for spec, value in public_values(config):
        if spec.mark.change != "none":
            out["fixed" if spec.mark.change == "fixed" else "extendable"][spec.path] = value
    return out


def compare_fingerprints(
    old: Mapping[str, Any], new: Mapping[str, Any], settings: type[BaseModel] = NoSettings
) -> list[ChangedKey]:
    """Differences between two fingerprints, in key order. A key known to one side only counts as changed from null.

    A key that a newer version added and that stands at its default changes nothing. `settings` declares the keys that
    only the environment reads.
    """
    defaults = {spec.path: _as_kept(spec.default) for spec in (*shared_specs(), *declared_specs(settings))}
    growing = {spec.path for spec in shared_specs() if spec.mark.change == "grow"}
    before = {**old.get("fixed", {}), **old.get("extendable", {})}
    after = {**new.get("fixed", {}), **new.get("extendable", {})}
    changed: list[ChangedKey] = []
    for key in sorted({*before, *after}):
        was, now = before.get(key), after.get(key)
        if was == now or (key not in before and key in defaults and now == defaults[key]):
            continue
        allowed = key in new.get("extendable", {}) and (key not in growing or _grows(was, now))
        changed.append(ChangedKey(key, was, now, allowed))
    return changed


def _as_kept(default: Any) -> Any:
    """A default as the run directory's JSON has it."""
    return list(cast("tuple[object, ...]", default)) if isinstance(default, tuple) else default


def _grows(old: Any, new: Any) -> bool:
    """null is the absence of a cap, larger than any number."""
    return new is None or (old is not None and new > old)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
