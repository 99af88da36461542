"""The positive control of a scorer: the gold answer goes through it first, and then something that answers nothing.

A scorer for which the gold answer is wrong for most items, or that gives everything the same, cannot train a skill. An
environment takes part with `gold_reply(item)`: a reply as a target would write it that holds the gold answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from skillopt.core.aio import gather_all
from skillopt.core.errors import DataError
from skillopt.core.item import Item
from skillopt.core.offers import offers
from skillopt.core.outcome import Scored
from skillopt.envs.base import Env
from skillopt.envs.checks.one_answer import outcome
from skillopt.envs.judged import needs_judge
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scoring import UNAIDED, KeepsScores, Scoring

ITEMS = 8
NONSENSE = "zqx vrrk"


@runtime_checkable
class KnowsReplies(Protocol):
    """An environment that can write a right reply itself."""

    def gold_reply(self, item: Item) -> str | None:
        """A reply that holds the gold answer, as a target would write it; None where no text alone can be right."""
        ...


@dataclass(frozen=True)
class Control:
    """What came of it: `asked` items had a gold reply and a score, `unstable` ones another score when asked twice."""

    asked: int
    right: int
    same: int
    """Items for which the gold reply and nonsense score alike."""
    example: str = ""
    unstable: int = 0

    @property
    def no_signal(self) -> str:
        """Why no skill can be trained with this scorer; blank where one can."""
        if self.asked < 3 or self.same < self.asked:
            return ""
        alike = f"on {self.same} of {self.asked} items"
        return f"no signal: the scorer gives the gold answer and nonsense the same score {alike}"

    @property
    def warnings(self) -> list[str]:
        """What a user should know, with counts."""
        found: list[str] = []
        if self.asked and self.right * 2 < self.asked:
            found.append(
                f"the scorer calls the gold answer wrong on {self.asked - self.right} of {self.asked} items"
                + (f", for example {self.example}" if self.example else "")
            )
        if self.unstable:
            found.append(
                f"the scorer is no function: asked twice about one answer it says something else on {self.unstable} of "
                f"{self.asked} items (a run keeps the first score)"
            )
        return found


async def positive_control(
    env: Env, items: Sequence[Item], scoring: Scoring = UNAIDED, *, twice: bool = False
) -> Control | None:
    """Score gold and nonsense for a few items. None where the environment knows no right reply, or its judge is not at
    hand. Raises what scoring raises."""
    if not offers(env, KnowsReplies) or (needs_judge(env) and scoring.judge is None):
        return None
    pairs = [(item, reply) for item in items[:ITEMS] if (reply := env.gold_reply(item)) is not None]
    again = twice and offers(env, KeepsScores) and not needs_judge(env)
    rows = await gather_all([_row(env, item, reply, scoring, again=again) for item, reply in pairs])
    known = [row for row in rows if row is not None]
    wrong = next((row for row in known if row.gold.hard < env.pass_threshold), None)
    return Control(
        asked=len(known),
        right=sum(row.gold.hard >= env.pass_threshold for row in known),
        same=sum((row.gold.hard, row.gold.soft) == (row.nonsense.hard, row.nonsense.soft) for row in known),
        example=f"{wrong.item.id!r}: {shorten(wrong.gold.fail_reason or wrong.gold.predicted)}" if wrong else "",
        unstable=sum(row.unstable for row in known),
    )


@dataclass(frozen=True)
class _Row:
    item: Item
    gold: Scored
    nonsense: Scored
    unstable: bool


async def _row(env: Env, item: Item, reply: str, scoring: Scoring, *, again: bool) -> _Row | None:
    gold = await outcome(env, item, reply, scoring)
    try:
        nonsense = await outcome(env, item, NONSENSE, scoring)
    except DataError:  # a scorer that cannot read nonsense tells it from an answer
        nonsense = Scored(0.0, -1.0)
    if not isinstance(gold, Scored) or not isinstance(nonsense, Scored):
        return None
    return _Row(item, gold, nonsense, again and await outcome(env, item, reply, UNAIDED) != gold)
