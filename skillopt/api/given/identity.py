"""Who a Python function is: a digest of whatever can change what it returns.

Its source, the source of its module, its defaults and what it closes over. In a notebook, where a module has no file,
the functions of the notebook that it names count instead of the module. Where that cannot be known (no source, a bound
method or an object with state, a closure over something that has no JSON form) a version has to be said.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import cast

from skillopt.core.errors import ConfigError
from skillopt.core.hashing import digest, text_digest


def name_of(function: Callable[..., object]) -> str:
    """What errors and records call it.

    >>> name_of(len)
    'len'
    """
    inner = inspect.unwrap(function)
    if isinstance(inner, functools.partial):
        return name_of(inner.func)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return str(getattr(inner, "__qualname__", type(inner).__qualname__)).replace("<locals>.", "")


def identity_of(function: Callable[..., object], *, version: str, what: str) -> str:
    """16 hex digits. Raises `ConfigError` that says what hides its identity, and how to give one.

    >>> def right(answer, item): return answer == item["answer"]
    >>> identity_of(right, version="1", what="scorer") == identity_of(right, version="2", what="scorer")
    False
    """
    if version:
        return digest({"name": name_of(function), "version": version})[:16]
    return digest(_parts(function, f"the {what} {name_of(function)}", set()))[:16]


def _parts(function: object, who: str, seen: set[int]) -> object:
    """JSON-able parts of a function's identity."""
    if isinstance(function, functools.partial):
        partial = cast("functools.partial[object]", function)
        bound = [
            _plain(value, who, "is bound to", seen) for value in (*partial.args, *sorted(partial.keywords.items()))
        ]
        return ["partial", _parts(partial.func, who, seen), bound]
    if isinstance(function, MethodType):
        raise _unknown(who, "is a bound method, whose object can change what it returns")
    if not isinstance(function, FunctionType):
        raise _unknown(who, f"is an object ({type(function).__name__}), whose state can change what it returns")
    if id(function) in seen:
        return "recursive"
    seen.add(id(function))
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        raise _unknown(who, "has no source that can be read") from None
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {
        "name": function.__qualname__,
        "source": inspect.cleandoc(source),
        "constants": _constants(function) if function.__name__ == "<lambda>" else [],
        "module": _module(function, who, seen),
        "defaults": [_plain(v, who, "has a default", seen) for v in function.__defaults__ or ()],
        "named": {k: _plain(v, who, "has a default", seen) for k, v in (function.__kwdefaults__ or {}).items()},
        "closure": {name: _plain(_cell(cell), who, f"closes over {name},", seen) for name, cell in cells},
    }


def _constants(function: FunctionType) -> list[object]:
    """What tells two lambdas of one line apart."""
    code = function.__code__
    return [[repr(c) for c in code.co_consts if not inspect.iscode(c)], list(code.co_names), list(code.co_varnames)]


def _module(function: FunctionType, who: str, seen: set[int]) -> object:
    """The digest of the module's file; without one, the functions and values of the module that are named."""
    file = inspect.getsourcefile(function)
    if file is not None and Path(file).is_file() and function.__globals__.get("__file__") is not None:
        return text_digest(Path(file).read_text(encoding="utf-8", errors="replace"))
    named = sorted(set(function.__code__.co_names) & function.__globals__.keys())
    found = {name: function.__globals__[name] for name in named}
    return {name: _plain(value, who, f"uses {name},", seen) for name, value in found.items()}


def _cell(cell: object) -> object:
    try:
        return getattr(cell, "cell_contents")  # noqa: B009 - the cell's type is not public
    except ValueError:
        return "empty"


def _plain(value: object, who: str, how: str, seen: set[int]) -> object:
    """A value in JSON form; another function by its own parts, a module by its name, a class by its source."""
    if isinstance(value, (FunctionType, functools.partial)):
        return _parts(cast("object", value), who, seen)
    if inspect.ismodule(value) or inspect.isbuiltin(value):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if inspect.isclass(value):
        try:
            return [value.__qualname__, text_digest(inspect.getsource(value))]
        except (OSError, TypeError):
            return f"{value.__module__}.{value.__qualname__}"
    try:
        return digest({"value": value})
    except (TypeError, ValueError):
        raise _unknown(who, f"{how} which has no JSON form ({type(value).__name__})") from None


def _unknown(who: str, why: str) -> ConfigError:
    return ConfigError(
        f"{who} {why}, so a changed one could not be told from this one",
        hint='say which one it is: version="1", and another text whenever it changes '
        "(scorers.function(f, version=...), Model(f, version=...))",
    )
