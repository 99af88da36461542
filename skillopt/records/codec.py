"""Frozen dataclasses to JSON and back: the one place that knows how a record lies in a file.

A field is written under its own name, in the order of the class. `OMIT` leaves a field out while it has its
default; `MERGE` lays a nested record's fields among those of the record around it. Reading is strict about types (a
wrong one is a `RunDirError` that names file, field and value) and lenient about age: a missing field takes its default,
an unknown one is passed over, and a class with `upgrade(raw)` may first mend what an earlier version wrote.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import JsonObject, JsonValue

RECORD_VERSION = 2
"""1: what commit 1b0a487 wrote. 2: vetoes with their reason, drafts apart from undecided, what a verdict changed."""

T = TypeVar("T")
OMIT: Mapping[str, bool] = {"omit": True}
"""Metadata of a field that is left out of the file while it has its default."""
MERGE: Mapping[str, bool] = {"merge": True}
"""Metadata of a nested record (or None) whose fields stand among those of the record around it."""

_HINT = "run the training command again: it writes its views anew, for free"
_PLAIN: dict[type[object], str] = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def encode(value: object) -> JsonValue:
    """A record, or what a record's field holds, as JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return encode_record(value)
    if isinstance(value, Enum):
        return cast("str", value.value)
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in cast("Sequence[object]", value)]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} is no part of a record")


def encode_record(record: object) -> dict[str, JsonValue]:
    """One record as an object, fields in order."""
    body: dict[str, JsonValue] = {}
    out = _left_out(record)
    for each in fields(cast("Any", record)):
        value = getattr(record, each.name)
        if each.metadata.get("merge"):
            if value is not None:
                body.update(encode_record(value))
        elif each.name not in out and not (each.metadata.get("omit") and value == each.default):
            body[each.name] = encode(value)
    return body


def _left_out(record: object) -> frozenset[str]:
    """Names that a record does not write in its present state: the answer of its method `left_out`, if it has one."""
    ask = getattr(record, "left_out", None)
    return cast("frozenset[str]", ask()) if callable(ask) else frozenset()  # a field may have that name


def decode(kind: type[T], raw: object, where: str) -> T:
    """The record of this class that an object describes. `where` is the file, for errors. Raises `RunDirError`."""
    if not isinstance(raw, Mapping):
        raise _wrong(where, "an object", raw)
    body = cast("JsonObject", raw)
    upgrade = getattr(kind, "upgrade", None)
    if upgrade is not None:
        body = cast("JsonObject", upgrade(body))
    values: dict[str, object] = {}
    for each, expected in _plan(kind):
        if each.metadata.get("merge"):
            inner = _record_in(expected)
            if _holds(inner, body):
                values[each.name] = decode(inner, body, where)
        elif each.name in body:
            values[each.name] = _value(expected, body[each.name], f"{where}: {each.name}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise RunDirError(f"{where}: {each.name} is missing", hint=_HINT)
    return kind(**values)


@cache
def _plan(kind: type[object]) -> tuple[tuple[Field[Any], object], ...]:
    """The fields of a class with their types resolved."""
    # JSON's own type is recursive; what stands under it is not looked into.
    hints = typing.get_type_hints(kind, localns={"JsonValue": object, "JsonObject": Mapping[str, object]})
    return tuple((each, hints[each.name]) for each in fields(cast("Any", kind)) if each.init)


def _record_in(expected: object) -> type[object]:
    """The record class of a merged field, which may be optional."""
    found = [a for a in (get_args(expected) or (expected,)) if a is not types.NoneType]
    return cast("type[object]", found[0])


def _holds(kind: type[object], body: JsonObject) -> bool:
    """Whether a merged record stands in an object: all that it requires is there (its first field, if it requires
    nothing)."""
    required = [f.name for f, _ in _plan(kind) if f.default is MISSING and f.default_factory is MISSING]
    return all(name in body for name in required or [_plan(kind)[0][0].name])


def _value(expected: object, raw: object, where: str) -> object:
    """A field's value, checked against its type."""
    if expected is object:
        return raw
    origin, inner = get_origin(expected), get_args(expected)
    if origin in (Union, types.UnionType):
        return _union(inner, raw, where)
    if origin is tuple:
        return _tuple(inner, raw, where)
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        return _mapping(inner, raw, where)
    if origin is Literal:
        if raw not in inner:
            raise _wrong(where, "one of " + ", ".join(map(str, inner)), raw)
        return raw
    kind = cast("type[object]", expected)
    if issubclass(kind, Enum):
        return _member(kind, raw, where)
    if dataclasses.is_dataclass(kind):
        return decode(kind, raw, where)
    return _plain(kind, raw, where)


def _plain(kind: type[object], raw: object, where: str) -> object:
    """A text, a number or a truth value; a whole number is a number too, and true is none."""
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        try:
            return float(raw)
        except OverflowError:
            raise _wrong(where, "a number within reach", raw) from None
    if not isinstance(raw, kind) or (isinstance(raw, bool) and kind is not bool):
        raise _wrong(where, _PLAIN.get(kind, kind.__name__), raw)
    return raw


def _union(inner: Sequence[object], raw: object, where: str) -> object:
    if raw is None and types.NoneType in inner:
        return None
    kinds = [k for k in inner if k is not types.NoneType]
    for kind in kinds[:-1]:
        try:
            return _value(kind, raw, where)
        except RunDirError:
            continue
    return _value(kinds[-1], raw, where)


def _tuple(inner: Sequence[object], raw: object, where: str) -> object:
    if not isinstance(raw, (list, tuple)):
        raise _wrong(where, "a list", raw)
    rows = cast("Sequence[object]", raw)
    if len(inner) == 2 and inner[1] is Ellipsis:
        return tuple(_value(inner[0], row, f"{where}[{n}]") for n, row in enumerate(rows))
    if len(rows) != len(inner):
        raise _wrong(where, f"{len(inner)} values", rows)
    return tuple(_value(kind, row, f"{where}[{n}]") for n, (kind, row) in enumerate(zip(inner, rows, strict=True)))


def _mapping(inner: Sequence[object], raw: object, where: str) -> object:
    if not isinstance(raw, Mapping):
        raise _wrong(where, "an object", raw)
    rows = cast("Mapping[object, object]", raw)
    return {str(name): _value(inner[1], row, f"{where}.{name}") for name, row in rows.items()}


def _member(kind: type[Enum], raw: object, where: str) -> Enum:
    try:
        return kind(raw)
    except ValueError:
        raise _wrong(where, "one of " + ", ".join(str(m.value) for m in kind), raw) from None


def _wrong(where: str, wanted: str, raw: object) -> RunDirError:
    shown = repr(raw)
    return RunDirError(f"{where}: expected {wanted}, found {shown[:60]}{'…' if len(shown) > 60 else ''}", hint=_HINT)
