"""A resolved configuration for files and for the screen.

Files get an allow-list: declared keys that are not secret, with credentials taken out of URLs. The screen also names
the secrets, masked, and the source of each value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel

from skillopt.config.keys import SECTIONS, KeySpec
from skillopt.config.resolve import Resolved
from skillopt.config.schema.root import Config
from skillopt.config.table import declared_specs, shared_specs
from skillopt.config.values import shown
from skillopt.core.redact import redact_reply


class Row(NamedTuple):
    """One line of a dry run."""

    key: str
    value: str
    source: str


def values_of(config: Config) -> Iterator[tuple[KeySpec, object]]:
    """Every key with its value, secrets included, sections in order."""
    declared = declared_specs(type(config.env_settings))
    for section in SECTIONS:
        part: BaseModel = getattr(config, section)
        for spec in shared_specs():
            if spec.section == section:
                yield spec, getattr(part, spec.name)
        if section == "env":
            for spec in declared:
                yield spec, getattr(config.env_settings, spec.name)


def public_values(config: Config) -> Iterator[tuple[KeySpec, object]]:
    """Every key that may stand in a file, with a JSON value."""
    plain: dict[str, object] = config.env_settings.model_dump(mode="json")
    for spec, value in values_of(config):
        if not spec.secret:
            yield spec, _public(plain[spec.name] if spec.declared else value)


def flat_export(config: Config) -> dict[str, object]:
    """`config.json`: flat names, in the published spelling."""
    return {spec.flats[0]: value for spec, value in public_values(config)}


def structured_export(config: Config) -> dict[str, dict[str, object]]:
    """`config.yaml`: sections. Loading it again gives the same configuration, secrets apart."""
    out: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    for spec, value in public_values(config):
        out[spec.section][spec.name] = value
    return out


def dry_run_rows(resolved: Resolved) -> list[Row]:
    """Every key, its value (secrets masked) and where the value came from."""
    return [
        Row(spec.path, shown(spec, _public(value)), str(resolved.origins[spec.path]))
        for spec, value in values_of(resolved.config)
    ]


def render_dry_run(resolved: Resolved) -> str:
    """The rows of a dry run as aligned text, notices first."""
    rows = dry_run_rows(resolved)
    width = max(len(row.key) for row in rows)
    value_width = min(48, max(len(row.value) for row in rows))
    lines = [f"note: {notice}" for notice in resolved.notices]
    lines += [f"{row.key:<{width}}  {row.value:<{value_width}}  {row.source}".rstrip() for row in rows]
    return "\n".join(lines)


def _public(value: object) -> object:
    """The value without user names and passwords in URLs and without keys that stand where none belongs, at any
    depth."""
    if isinstance(value, str) and "://" in value and "@" in value:
        try:
            parts = urlsplit(value)
        except ValueError:
            return value
        return redact_reply(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))
    if isinstance(value, str):
        return redact_reply(value)
    if isinstance(value, BaseModel):
        return _public(value.model_dump(mode="json", exclude_unset=True))
    if isinstance(value, Mapping):
        return {str(key): _public(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_public(inner) for inner in cast("Sequence[object]", value)]
    return value
