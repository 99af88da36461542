"""How a scorer that somebody wrote as a Python function is called, and what it may give back.

It is called by the names of its parameters: `answer` (the extracted answer), `item` (the item's fields), `trajectory`
(the conversation as a list of dicts), `rollout` (everything at once, not scored yet). Two parameters with other names
are the answer and the item. It may return a bool, a number from 0 to 1, a `Scored`, a dict with `hard`, `soft`,
`fail_reason` and `feedback`, or a pair (score, feedback). Feedback is what an analyst reads beside a training item.

A plain function runs in a worker thread, an `async` one on the loop. Whatever it raises, `SystemExit` included, is a
`DataError` that names the item and keeps the exception as its cause: a crash of the scorer is not a wrong answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Scored, checked
from skillopt.core.rollout import Rollout
from skillopt.envs.scoring import Left, crashed, in_thread

PARAMETERS = ("answer", "item", "trajectory", "rollout")
FEEDBACK = "feedback"
"""Where a `Scored.detail` holds what the scorer says to analysts."""

_KEYS = {"hard", "soft", "fail_reason", FEEDBACK}
_SHAPES = (
    "return a number from 0 to 1, a bool, a Scored, (score, feedback), or a dict with hard, soft, fail_reason, feedback"
)

ScorerFunction = Callable[..., object]


@dataclass(frozen=True)
class Calling:
    """A scoring function with the names it wants. `who` is what errors call it."""

    function: ScorerFunction
    names: tuple[str, ...]
    who: str

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
        if not only_named and (required == ["rollout"] or {"answer", "item"} <= set(required) <= set(PARAMETERS)):
            return cls(function, tuple(required), who)
        catches_all = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        if not only_named and (len(required) == 2 or (catches_all and len(required) < 2)):
            return cls(function, ("answer", "item"), who)
        raise ConfigError(
            f"the scorer {who} takes ({', '.join([*required, *only_named])})",
            hint="a scorer takes (answer, item), (answer, item, trajectory) or (rollout)",
        )

    @property
    def is_async(self) -> bool:
        """Whether it waits instead of holding a thread."""
        function = self.function
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with `async def __call__`
        )

    async def __call__(self, answer: str, rollout: Rollout) -> Scored:
        """Score one attempt. Raises `DataError` for whatever the function raises or returns that is no score."""
        item = rollout.item
        given: Mapping[str, object] = {
            "answer": answer,
            "item": dict(item.data),
            "trajectory": [dict(entry) for entry in rollout.trajectory],
            "rollout": rollout,
        }
        arguments = [given[name] for name in self.names]
        try:
            if self.is_async:
                result = await cast("Awaitable[object]", self.function(*arguments))
            else:
                result = await in_thread(self.function, *arguments)
                if inspect.isawaitable(result):
                    result = await cast("Awaitable[object]", result)
        except Left as left:
            raise crashed(item.id, f"the scorer {self.who}", left.error) from left.error
        except SkillOptError:
            raise
        except (Exception, SystemExit) as error:
            raise crashed(item.id, f"the scorer {self.who}", error) from error
        return checked(item.id, self.scored(result, answer, item.id))

    def scored(self, result: object, answer: str, item_id: str) -> Scored:
        """What the function returned as a `Scored`, not checked for its range."""
        plain, feedback = _pair(result)
        if isinstance(plain, Scored):
            return _with_feedback(plain, feedback)
        values = cast("Mapping[str, object]", plain) if isinstance(plain, Mapping) else {"hard": plain}
        if "hard" not in values or values.keys() - _KEYS:
            raise DataError(f"item {item_id!r}: the scorer {self.who} returned {result!r}", hint=_SHAPES)
        hard, soft = values["hard"], values.get("soft")
        hard = float(hard) if isinstance(hard, bool) else hard
        scored = Scored(
            cast("float", hard),  # `checked` refuses what is no number
            cast("float", hard if soft is None else soft),
            str(values.get("fail_reason") or ""),
            predicted=answer,
        )
        return _with_feedback(scored, values.get(FEEDBACK) if feedback is None else feedback)

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """What of an attempt, besides its text, the function sees."""
        sees_more = {"trajectory", "rollout"} & set(self.names)
        return digest([dict(entry) for entry in attempt.trajectory]) if sees_more else ""


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
