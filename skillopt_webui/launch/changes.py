"""Changes to a configuration as an address or a form names them, `key=value` each; a secret is none of them.

What a page takes it shows again, and a launch keeps it in a file and on a command line that other programs can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import FormData

from skillopt.api.given.keys import may_be_shown
from skillopt.core.errors import ConfigError

_CHANGE = re.compile(r"([A-Za-z_][\w-]*(?:\.[\w-]+)*)=.*", re.DOTALL)
FIX = "set it as an environment variable, or in .env or .secrets, before the dashboard starts"


@dataclass(frozen=True)
class Sorted:
    """`kept` may go on; `left_out` are the keys of what may not, blank where it names none."""

    kept: tuple[str, ...]
    left_out: tuple[str, ...]


def sort_out(given: Iterable[str]) -> Sorted:
    """Blocking: names are looked up in the environments."""
    kept: list[str] = []
    left_out: list[str] = []
    for text in given:
        found = _CHANGE.fullmatch(text)
        if found is not None and may_be_shown(text):
            kept.append(text)
        else:
            left_out.append(found[1] if found is not None else "")
    return Sorted(tuple(kept), tuple(left_out))


def changes_of(form: FormData) -> list[str]:
    """The field `set` of a form. Raises `ConfigError`, which says the key and never the value. Blocking."""
    found = sort_out(str(value) for value in form.getlist("set"))
    if found.left_out:
        raise ConfigError(told(found.left_out[0]), hint=FIX)
    return list(found.kept)


def told(key: str) -> str:
    """Why a change was not taken."""
    return (
        f"{key}: no page takes a secret"
        if key
        else "a change was not taken: it is no key=value, or looks like a secret"
    )
