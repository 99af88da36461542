"""A raw item with its place, a file of them with what was noticed about it, and strict JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.core.errors import DataError
from skillopt.core.json_types import finite


@dataclass(frozen=True)
class Row:
    """One raw item and its place, for example `data/train/items.json, item 3`."""

    data: Mapping[str, Any]
    where: str

    def fault(self, problem: str, *, hint: str = "") -> DataError:
        """A `DataError` that starts with the place (and the id, when there is one)."""
        name = self.data.get("id")
        return DataError(f"{self.where}{'' if name is None else f' (id {name!r})'}: {problem}", hint=hint)

    def identifier(self, name: str = "id") -> str | None:
        """The opaque id as text; None when absent. Whole numbers are accepted, blank text is refused."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            raise self.fault(f"field {name!r} must be text or a whole number, got {value!r}")
        return str(value)

    def text(self, name: str, *, hint: str = "", blank: bool = False) -> str:
        """A required text field."""
        value = self.data.get(name)
        if not isinstance(value, str):
            problem = "is missing" if value is None else f"must be text, got {type(value).__name__}"
            raise self.fault(f"field {name!r} {problem}", hint=hint)
        if not blank and not value.strip():
            raise self.fault(f"field {name!r} is blank", hint=hint)
        return value


@dataclass(frozen=True)
class ItemFile:
    """The rows of a file, and a sentence for each thing that was decided while it was read."""

    rows: Sequence[Row]
    notes: tuple[str, ...] = ()


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN or infinity, however written (`1e999`), no key twice in one object. Raises `ValueError`."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=finite)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        # Python's advice (a setting of the interpreter) helps nobody who has a file.
        raise ValueError("it has a number of over 4,300 digits") if "digits" in str(error) else error from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} stands twice in one object")
            seen.add(key)
    return out
