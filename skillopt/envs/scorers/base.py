"""The scorer contract, and gold values in the one shape that all scorers read.

A scorer is a frozen pydantic model: its fields are its options (unknown ones, and wrong types such as `true` for a
length, are refused when the configuration is read), its `check` looks at every gold value before anything is spent, and
its `score` is pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from pydantic import BaseModel, ConfigDict

from skillopt.agents.base import Attempt
from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.offers import offers
from skillopt.core.outcome import Outcome, Scored
from skillopt.envs.scoring import ScoreContext

_SHOWN = 200


@dataclass(frozen=True)
class Gold:
    """The gold value as the item states it (`raw`), and as texts of which any one is right (`texts`)."""

    raw: Any
    texts: tuple[str, ...]

    @classmethod
    def of(cls, raw: Any) -> Gold:
        """A list is a list of acceptable answers; an object is one answer with fields; None is no gold value."""
        values: list[Any] = cast("list[Any]", raw) if isinstance(raw, list) else [] if raw is None else [raw]
        return cls(raw, tuple(_as_text(value) for value in values))

    def shown(self) -> str:
        """The texts for a message, shortened."""
        return shorten(" | ".join(self.texts))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def shorten(text: str) -> str:
    """At most 200 characters on one line, for messages."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


class Scorer(BaseModel):
    """Base of all scorers. Subclasses set `name` (the YAML value that selects them) and implement `score`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge model is asked."""
        return False

    @property
    def judge_calls(self) -> int:
        """Calls to the judge for one attempt, re-asks apart."""
        return 0

    @property
    def needs_gold(self) -> bool:
        """Whether every item must have a gold value."""
        return not offers(self, ScoresAttempts)

    @property
    def gold_answers(self) -> bool:
        """Whether a gold value is an answer too, so that it can be scored to see whether the scorer works."""
        return not offers(self, ScoresAttempts) or self.rests_on(Attempt()) in ("", None)

    @property
    def reads_workspace(self) -> bool:
        """Whether the files that the target left are kept for it."""
        return False

    @property
    def needs_workspace(self) -> bool:
        """Whether it cannot score an answer of a target that has no directory."""
        return False

    @property
    def leaves(self) -> tuple[Scorer, ...]:
        """The scorers that it is made of: itself, unless it is a combination."""
        return (self,)

    def judge_texts(self) -> Sequence[str]:
        """What a judge is told and no skill may repeat."""
        return ()

    def looking_beside(self, path: Path) -> Scorer:
        """The same scorer; one that lives in a module also finds it beside the item file."""
        del path
        return self

    def check(self, item: Item, gold: Gold) -> None:
        """Refuse, before anything is spent, an item that this scorer could never judge. Raises `DataError`."""
        if not gold.texts:
            raise DataError(f"item {item.id!r}: has no gold answer", hint="the scorer compares with at least one")

    def score(self, answer: str, *, item: Item, gold: Gold) -> Scored:
        """Judge the extracted answer."""
        raise TypeError(f"{type(self).__name__} defines no score()")

    def form(self, text: str, item: Item) -> str | None:
        """What of a gold text the scorer compares: two texts of one form are one answer to it, and an empty form is
        nothing. None where there is no such form (a function, a judge, a pattern)."""
        del text, item
        return None

    def replies(self, gold: Gold, item: Item) -> tuple[str, ...]:
        """The gold values as a target would write them."""
        del item
        return gold.texts

    def told(self) -> str:
        """What the target has to know of the form of an answer, besides where to write it; blank for most."""
        return ""

    def identity(self) -> dict[str, Any]:
        """What of the scorer can change a score: its options. Part of the environment's version."""
        return self.model_dump(mode="json")


def refuse_objects(item: Item, gold: Gold, who: str) -> None:
    """An object is no text: only a reply with all of its fields would be right. Raises `DataError`."""
    raw: JsonValue = gold.raw
    odd = next((value for value in (raw if isinstance(raw, list) else [raw]) if isinstance(value, (dict, list))), None)
    if odd is None:
        return
    kind = "a list of lists" if isinstance(odd, list) else "an object"
    inside = next((name for name in ("text", "value", "answer", "aliases") if name in odd), "")
    raise DataError(
        f"item {item.id!r}: the gold answer is {kind}, and {who} compares texts: {shorten(_as_text(odd))}",
        hint=f"name what is inside it: env.answer_field=<field>.{inside}"
        if inside
        else "use scorer json_fields with answer_format json, or name what is inside: env.answer_field=<field>.<name>",
    )


def verdict(right: bool, answer: str, gold: Gold, *, soft: float | None = None, why: str = "") -> Scored:
    """A right or wrong answer with the reason that analysts read."""
    hard = 1.0 if right else 0.0
    reason = "" if right else why or f"answered {shorten(answer)!r}, expected {gold.shown()!r}"
    return Scored(hard, hard if soft is None else soft, fail_reason=reason, predicted=answer)


@runtime_checkable
class ScoresAttempts(Protocol):
    """A scorer that may look at how an answer came about, take its time, ask a judge, or do without a gold value."""

    async def score_attempt(self, answer: str, gold: Gold, attempt: Attempt, ctx: ScoreContext) -> Outcome:
        """Judge the answer of an attempt; the item is `ctx.rollout.item`."""
        ...

    def rests_on(self, attempt: Attempt) -> JsonValue:
        """See `envs.scoring.KeepsScores.score_rests_on`."""
        ...
