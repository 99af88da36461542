"""How a scorer that somebody wrote as a Python function is called, and what it may give back.

It is called by the names of its parameters: `answer` (the extracted answer), `item` (the item's fields), `trajectory`
(the conversation as a list of dicts), `workspace` (the files that the target left, as `LeftFiles`), `rollout`
(everything at once, not scored yet). Two parameters with other names are the answer and the item. A `trajectory` or
`workspace` with a default is given too; a `workspace` is None where the target has no directory, and a function that
demands one is refused there. It may return a bool, a number from 0 to 1 (NumPy's too), a `Scored`, a dict with `hard`
(or `score`), `soft`, `fail_reason` and `feedback`, or a pair (score, feedback); and a `Missing` where it could not
score. Feedback is what an analyst reads beside a training item.

A plain function runs in a worker thread, an `async` one on the loop. Whatever it raises, `SystemExit` included, is a
`DataError` that names the item and keeps the exception as its cause: a crash of the scorer is not a wrong answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from skillopt.agents.base import Attempt
from skillopt.agents.left_files import LeftFiles
from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing, Scored, checked
from skillopt.core.rollout import Rollout
from skillopt.envs.data.plain import plain_scalar
from skillopt.envs.score_work import arguments, called
from skillopt.envs.scoring import Left, crashed, in_thread

PARAMETERS = ("answer", "item", "trajectory", "workspace", "rollout")
WORKSPACE = "workspace"
_OPTIONAL = ("trajectory", WORKSPACE)
FEEDBACK = "feedback"
"""Where a `Scored.detail` holds what the scorer says to analysts."""

_KEYS = {"hard", "soft", "fail_reason", FEEDBACK}
_SHAPES = (
    "return a number from 0 to 1, a bool, a Scored, a Missing, (score, feedback), or a dict with hard (or score), "
    "soft, fail_reason, feedback"
)

ScorerFunction = Callable[..., object]


@dataclass(frozen=True)
class Calling:
    """A scoring function with the names it demands, and those it takes where it has a default. `who` is what errors
    call it."""

    function: ScorerFunction
    names: tuple[str, ...]
    who: str
    optional: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: ScorerFunction, who: str) -> Calling:
        """Read the signature. Raises `ConfigError` for one that cannot be called.

        >>> Calling.of(lambda answer, item: True, "mine").names
        ('answer', 'item')
        """
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return cls(function, ("answer", "item"), who)
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        required = [p.name for p in parameters if p.default is p.empty and p.kind in kinds]
        only_named = [p.name for p in parameters if p.default is p.empty and p.kind is inspect.Parameter.KEYWORD_ONLY]
        names = [*required, *only_named]
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        optional = tuple(p.name for p in parameters
                         if p.name in _OPTIONAL and p.default is not p.empty and p.kind in named)  # fmt: skip
        whole = set(names) in ({"rollout"}, {"rollout", WORKSPACE})
        if whole or {"answer", "item"} <= set(names) <= set(PARAMETERS):
            return cls(function, tuple(names), who, optional)
        catches_all = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        if not only_named and (len(required) == 2 or (catches_all and len(required) < 2)):
            return cls(function, ("answer", "item"), who, optional)
        raise ConfigError(
            f"the scorer {who} takes ({', '.join(names)})",
            hint="a scorer takes (answer, item), (answer, item, trajectory) or (rollout), and `workspace` besides",
        )

    @property
    def is_async(self) -> bool:
        """Whether it waits instead of holding a thread."""
        function = self.function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with `async def __call__`
        )

    @property
    def wants(self) -> frozenset[str]:
        """Everything that it is given."""
        return frozenset((*self.names, *self.optional))

    async def __call__(self, answer: str, rollout: Rollout, workspace: LeftFiles | None = None) -> Scored | Missing:
        """Score one attempt. Raises `DataError` for whatever the function raises or returns that is no score."""
        item = rollout.item
        given = arguments(answer, rollout, workspace)
        try:
            if self.is_async:
                result = await cast("Awaitable[object]", called(self.function, self.names, given, self.optional))
            else:
                result = await in_thread(called, self.function, self.names, given, self.optional)
                if inspect.isawaitable(result):
                    result = await cast("Awaitable[object]", result)
        except Left as left:
            raise crashed(item.id, f"the scorer {self.who}", left.error) from left.error
        except SkillOptError:
            raise
        except (Exception, SystemExit) as error:
            raise crashed(item.id, f"the scorer {self.who}", error) from error
        return self.outcome(result, answer, item.id)

    def outcome(self, result: object, answer: str, item_id: str) -> Scored | Missing:
        """What the function returned. Raises `DataError` for what is no score."""
        said, feedback = _pair(result)
        if isinstance(said, Missing):
            return said
        if isinstance(said, Scored):
            numbers = replace(said, hard=cast("float", _number(said.hard)), soft=cast("float", _number(said.soft)))
            return checked(item_id, _with_feedback(numbers, feedback))
        values = dict(cast("Mapping[str, object]", said)) if isinstance(said, Mapping) else {"hard": said}
        if "hard" not in values and "score" in values:
            values["hard"] = values.pop("score")
        if "hard" not in values or values.keys() - _KEYS:
            raise DataError(f"item {item_id!r}: the scorer {self.who} returned {result!r}", hint=_SHAPES)
        hard, soft = _number(values["hard"]), _number(values.get("soft"))
        scored = Scored(
            cast("float", hard),  # `checked` refuses what is no number
            cast("float", hard if soft is None else soft),
            str(values.get("fail_reason") or ""),
            predicted=answer,
        )
        return checked(item_id, _with_feedback(scored, values.get(FEEDBACK) if feedback is None else feedback))

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """What of an attempt, besides its text, the function sees."""
        on: list[str] = []
        if {"trajectory", "rollout"} & self.wants:
            on.append(digest([dict(entry) for entry in attempt.trajectory]))
        if WORKSPACE in self.wants:
            on.append(f"{WORKSPACE} {attempt.workspace.digest if attempt.workspace is not None else 'none'}")
        return " ".join(on)


def _number(value: object) -> object:
    """A yes or no as a number, and another library's number as Python's; NaN stays the fault that it is."""
    found = value if isinstance(value, float) else plain_scalar(value)
    return float(found) if isinstance(found, bool) else found


def _pair(result: object) -> tuple[object, object]:
    """What was returned and the feedback beside it, None where there is none."""
    if not isinstance(result, tuple):
        return result, None
    parts = cast("tuple[object, ...]", result)
    return (parts[0], parts[1]) if len(parts) == 2 else (parts, None)


def _with_feedback(scored: Scored, feedback: object) -> Scored:
    if feedback is None or not str(feedback).strip():
        return scored
    return replace(scored, detail={**scored.detail, FEEDBACK: str(feedback)})
