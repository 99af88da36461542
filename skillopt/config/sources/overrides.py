"""Overrides on the command line: `--cfg-options a.b=c …`, bare tokens `a.b=c`, flat flags `--batch_size 40`.

Only the syntax and the names are settled here; values keep their text until the field's type is known. Among the forms,
`--cfg-options` and bare tokens count in the order written and flat flags after them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel

from skillopt.config.sources.layers import Layer, Origin, Raw
from skillopt.config.table import Found, KeyTable, Unknown, shared_specs, table_for_any
from skillopt.config.unsupported_keys import Absent
from skillopt.core.errors import ConfigError

_OPTION, _FLAG = 0, 1
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*")


class Names:
    """The keys that a command line may name. What the shared sections lack is looked for in all environments, which
    imports them: most command lines name none of those."""

    def __init__(self, schemas: Mapping[str, type[BaseModel]]) -> None:
        self._schemas = schemas

    def find(self, name: str) -> Found | Absent | Unknown:
        """See `KeyTable.find`."""
        found = KeyTable(shared_specs()).find(name)
        return found if isinstance(found, Found) else self._any.find(name)

    @cached_property
    def _any(self) -> KeyTable:
        return table_for_any(self._schemas)


@dataclass(frozen=True)
class Overrides:
    """What the command line says, in effective order."""

    entries: tuple[Raw, ...] = ()

    def layer(self) -> Layer:
        """The highest layer of a configuration."""
        return Layer("flag", self.entries)


def parse_overrides(argv: Sequence[str], env_schemas: Mapping[str, type[BaseModel]] | None = None) -> Overrides:
    """Read the tokens that a command's own options left over.

    Raises `ConfigError` for an unknown name (with the nearest one), a flag without a value, or a token that is neither.
    Names are checked against all environments of `env_schemas`; whether the chosen one has the key, `resolve` checks.
    """
    table = Names(env_schemas or {})
    options: list[Raw] = []
    flags: list[Raw] = []
    at = 0
    while at < len(argv):
        token = argv[at]
        at += 1
        if token in ("--cfg-options", "--cfg_options"):
            if at >= len(argv) or "=" not in argv[at]:
                raise ConfigError("--cfg-options needs at least one key=value after it")
        elif token.startswith(("--cfg-options=", "--cfg_options=")):
            options.append(_option(token.partition("=")[2], table))
        elif token.startswith("--"):
            name, equals, value = token[2:].partition("=")
            if not equals:
                _check(name, f"--{name}", table)
                if at >= len(argv) or argv[at].startswith("--"):
                    raise ConfigError(f"the flag --{name} needs a value", hint=f"write --{name}=<value>")
                value = argv[at]
                at += 1
            flags.append(_raw(name, value, f"--{name}", _FLAG, table))
        else:
            options.append(_option(token, table))
    return Overrides((*options, *flags))


def _option(token: str, table: Names) -> Raw:
    name, equals, value = token.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise ConfigError(f"cannot read the argument {token!r}", hint="overrides are written key=value or --key value")
    return _raw(name, value, name, _OPTION, table)


def _raw(name: str, value: str, where: str, form: int, table: Names) -> Raw:
    return Raw(_check(name, where, table), value, Origin("flag", where), form=form)


def _check(name: str, where: str, table: Names) -> str:
    plain = name.replace("-", "_")
    found = table.find(plain)
    if isinstance(found, Unknown):
        kind = "flag" if where.startswith("--") else "key"
        raise ConfigError(f"unknown {kind} {where}{found.nearest}", hint=found.hint)
    return plain
