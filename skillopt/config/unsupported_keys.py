"""The published keys, values, backends and environments that this version lacks, read from `unsupported_keys.yaml`.

Off is accepted, so that shared older files load; a value that would need the missing mechanism is refused with one
line; a setting of a missing mechanism is reported as having no effect. Nothing is accepted and silently unused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml

Kind = Literal["switch", "parameter", "foreign", "retired"]
_OFF = ("", "false", "no", "off", "0", "none", "null")


@dataclass(frozen=True)
class Absent:
    """One key without a mechanism. `names` are its spellings inside the section.

    `message` says what became of a retired key, or which environment a foreign one belongs to.
    """

    path: str
    kind: Kind
    names: tuple[str, ...]
    message: str = ""


@dataclass(frozen=True)
class NotBuilt:
    """The whole table."""

    keys: Mapping[str, Absent]
    """By dotted spelling and by flat spelling."""
    values: Mapping[str, tuple[str, ...]]
    backends: tuple[str, ...]
    environments: tuple[str, ...]


def is_off(value: Any) -> bool:
    """True for every way to say that a mechanism is not wanted."""
    return value is None or str(value).strip().lower() in _OFF


def _expand(row: str | Mapping[str, Any]) -> Iterable[tuple[str, ...]]:
    if not isinstance(row, str):
        yield (str(row["name"]), *row["also"])
    elif row.startswith("*"):
        yield from ((f"{prefix}{row[1:]}",) for prefix in ("", "optimizer_", "target_"))
    else:
        yield (row,)


def _load() -> NotBuilt:
    text = files("skillopt.config").joinpath("unsupported_keys.yaml").read_text(encoding="utf-8")
    raw: dict[str, Any] = yaml.safe_load(text)
    rows: list[Absent] = []
    kinds: tuple[tuple[str, Kind], ...] = (("switches", "switch"), ("parameters", "parameter"))
    for group, kind in kinds:
        sections: dict[str, list[Any]] = raw[group] or {}
        for section, entries in sections.items():
            rows += [Absent(f"{section}.{n[0]}", kind, n) for entry in entries for n in _expand(entry)]
    for environment, names in raw["environments"].items():
        rows += [Absent(f"env.{name}", "foreign", (name,), environment) for name in names]
    for path, message in raw["retired"].items():
        rows.append(Absent(path, "retired", (path.split(".")[1],), message))
    keys: dict[str, Absent] = {}
    for row in rows:
        section = row.path.split(".")[0]
        for name in row.names:
            keys[name] = keys[f"{section}.{name}"] = row
    values: dict[str, list[str]] = raw["values"] or {}
    return NotBuilt(
        keys=keys,
        values={key: tuple(names) for key, names in values.items()},
        backends=tuple(raw["backends"]),
        environments=tuple(raw["environments"]),
    )


NOT_BUILT = _load()
