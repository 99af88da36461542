"""Scorers by name, for `skillopt.optimize(..., scorer=scorers.numeric(absolute=0.1))`.

The plain ones return the same mapping that a configuration file would hold. `rubric` and `pairwise` ask a judge and may
bring its model along; `all_of` and `weighted` make one scorer of several, functions among them; `function` gives a
function a version, where its source alone does not say who it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from skillopt.api.given.models import ModelLike

Spec: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Function:
    """A scoring function with a version of its own."""

    function: Callable[..., object]
    version: str = ""


@dataclass(frozen=True)
class Judging:
    """A scorer that asks a judge. Without a `judge` it is the configuration's, or the optimizer's model."""

    spec: Spec
    judge: ModelLike | None = None


@dataclass(frozen=True)
class Combined:
    """Several scorers as one; `weights` are one for each part, or none."""

    name: str
    parts: tuple[ScorerLike, ...]
    weights: tuple[float, ...] = ()
    passes: float | None = None


ScorerLike: TypeAlias = str | Spec | Function | Judging | Combined | Callable[..., object] | object
"""A name, a mapping with `name` and options, one of this module's, a function, or an environment."""


def function(scorer: Callable[..., object], *, version: str = "") -> Function:
    """A scorer of one's own: `(answer, item)`, `(answer, item, trajectory)` or `(rollout)`.

    >>> function(lambda answer, item: answer == item["answer"], version="1").version
    '1'
    """
    return Function(scorer, version)


def rubric(text: str | Sequence[str], *, judge: ModelLike | None = None, **options: object) -> Judging:
    """A judge grades the answer from 0 to 10 by a text, or says of each of several criteria whether it is met.

    `judge` is `"backend:model"`, a `Model` or an async function. Options are `repeats`, `passes`, `show_reference`,
    `temperature`, `max_completion_tokens`. Calibrate it against people first: `skillopt.calibrate`.

    >>> rubric("Names a date and a place.", judge="openai:gpt-5.4", repeats=3).spec
    {'name': 'rubric', 'text': 'Names a date and a place.', 'repeats': 3}
    >>> rubric(["names a date", "names a place"]).spec["criteria"]
    ['names a date', 'names a place']
    """
    says: Spec = {"text": text} if isinstance(text, str) else {"criteria": list(text)}
    return Judging({"name": "rubric", **says, **options}, judge)


def pairwise(text: str, *, judge: ModelLike | None = None, **options: object) -> Judging:
    """A judge compares the answer with the reference answer, in both orders; soft is the share of wins.

    >>> pairwise("The kinder one.").spec
    {'name': 'pairwise', 'text': 'The kinder one.'}
    """
    return Judging({"name": "pairwise", "text": text, **options}, judge)


def all_of(*parts: ScorerLike) -> Combined:
    """Right where every part says so; soft is the mean of the parts. A part without a score leaves the whole without.

    >>> all_of("exact", rubric("Is polite.")).name
    'all_of'
    """
    return Combined("all_of", parts)


def weighted(*parts: tuple[ScorerLike, float], passes: float | None = None) -> Combined:
    """The weighted mean of the parts, each given as (scorer, weight); right from `passes` on, where that is given.

    >>> weighted((numeric(absolute=0.1), 2), (rubric("Shows its work."), 1), passes=0.7).weights
    (2, 1)
    """
    return Combined("weighted", tuple(part for part, _ in parts), tuple(weight for _, weight in parts), passes)


def exact(**options: object) -> Spec:
    """Right when the answer is one of the gold values, letter by letter.

    >>> exact(ignore_case=True)
    {'name': 'exact', 'ignore_case': True}
    """
    return {"name": "exact", **options}


def normalised(**options: object) -> Spec:
    """Right up to case, articles, punctuation and spaces; soft is the token F1."""
    return {"name": "normalised", **options}


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


def labels(*names: str) -> Spec:
    """One label of a closed list; reports show macro-F1 and a confusion table.

    >>> labels("spam", "ham")
    {'name': 'labels', 'labels': ['spam', 'ham']}
    """
    return {"name": "labels", "labels": list(names)}


def json_fields(**options: object) -> Spec:
    """An object whose fields are compared one by one."""
    return {"name": "json_fields", **options}
