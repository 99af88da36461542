"""Scorers by name, for `skillopt.optimize(..., scorer=scorers.numeric(absolute=0.1))`.

Each returns the same mapping that a configuration file would hold. `function` is for one's own: it gives a function a
version, where its source alone does not say who it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Spec: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Function:
    """A scoring function with a version of its own."""

    function: Callable[..., object]
    version: str = ""


ScorerLike: TypeAlias = str | Spec | Function | Callable[..., object] | object
"""A name, a mapping with `name` and options, a function, or an environment."""


def function(scorer: Callable[..., object], *, version: str = "") -> Function:
    """A scorer of one's own: `(answer, item)`, `(answer, item, trajectory)` or `(rollout)`.

    >>> function(lambda answer, item: answer == item["answer"], version="1").version
    '1'
    """
    return Function(scorer, version)


def exact() -> Spec:
    """Right when the answer is one of the gold values, letter by letter.

    >>> exact()
    {'name': 'exact'}
    """
    return {"name": "exact"}


def normalised() -> Spec:
    """Right up to case, articles, punctuation and spaces; soft is the token F1."""
    return {"name": "normalised"}


def contains(**options: object) -> Spec:
    """Right when a gold value occurs in the answer."""
    return {"name": "contains", **options}


def numeric(**options: object) -> Spec:
    """Numbers within a tolerance.

    >>> numeric(absolute=0.1)
    {'name': 'numeric', 'absolute': 0.1}
    """
    return {"name": "numeric", **options}


def regex(**options: object) -> Spec:
    """The gold value is a pattern."""
    return {"name": "regex", **options}


def multiple_choice(**options: object) -> Spec:
    """One label of several."""
    return {"name": "multiple_choice", **options}


def json_fields(**options: object) -> Spec:
    """An object whose fields are compared one by one."""
    return {"name": "json_fields", **options}
