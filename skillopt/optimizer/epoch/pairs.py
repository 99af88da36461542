"""Longitudinal pairs: one training item under the skill of an epoch ago and under the skill of now.

What changed between two skills shows only on equal items. A pair exists when both sides were measured; what is missing
on one side is left out by the caller and counted. A policy says which pairs the optimizer sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Scored
from skillopt.core.rollout import Rollout
from skillopt.optimizer.prompting import fenced
from skillopt.optimizer.trajectory import CHARS_PER_TOKEN, conversation, cut, estimated_tokens

Category = Literal["improved", "regressed", "persistent_fail", "stable_success"]
CATEGORIES: tuple[Category, ...] = ("regressed", "persistent_fail", "improved", "stable_success")
"""In the order in which they are shown: what must be undone first, what needs no change last."""

POLICIES: dict[str, frozenset[Category]] = {
    "mixed": frozenset(CATEGORIES),
    "changed": frozenset(("improved", "regressed")),
    "unchanged": frozenset(("persistent_fail", "stable_success")),
}
"""`longitudinal_pair_policy` → the pairs it keeps."""

_SHORTEST = 400
"""Characters that one conversation keeps however little room there is."""


@dataclass(frozen=True)
class Pair:
    """Two measured attempts at one item. `passed` are the verdicts by the environment's threshold, prev then curr."""

    prev: Rollout
    curr: Rollout
    passed: tuple[bool, bool]

    @property
    def item(self) -> Item:
        """The item both attempts were made on."""
        return self.curr.item

    @property
    def category(self) -> Category:
        """What became of the item from the previous skill to the current one."""
        names: dict[tuple[bool, bool], Category] = {
            (False, True): "improved",
            (True, False): "regressed",
            (False, False): "persistent_fail",
            (True, True): "stable_success",
        }
        return names[self.passed]

    def to_json(self, task: str) -> dict[str, JsonValue]:
        """A row of `comparison_pairs.json`; the trajectories stand in the rollout directories."""
        return {
            "id": self.item.id,
            "task": task,
            "category": self.category,
            "prev": _side(self.prev),
            "curr": _side(self.curr),
        }


def _side(rollout: Rollout) -> dict[str, JsonValue]:
    scored = rollout.scored
    if scored is None:
        raise ValueError(f"a side of the pair of {rollout.item.id!r} was not measured")
    return {
        "hard": scored.hard,
        "soft": scored.soft,
        "predicted_answer": scored.predicted,
        "fail_reason": scored.fail_reason,
    }


def pair(prev: Sequence[Rollout], curr: Sequence[Rollout], pass_threshold: float) -> tuple[list[Pair], int]:
    """Pairs by id, in the order of `prev`, and how many were left out because a side is missing."""
    now = {r.item.id: r for r in curr}
    pairs: list[Pair] = []
    for before in prev:
        after = now[before.item.id]
        if before.scored is not None and after.scored is not None:
            passed = (before.scored.hard >= pass_threshold, after.scored.hard >= pass_threshold)
            pairs.append(Pair(before, after, passed))
    return pairs, len(prev) - len(pairs)


def kept(pairs: Sequence[Pair], policy: str) -> list[Pair]:
    """The pairs that a policy of `POLICIES` shows, in order."""
    return [p for p in pairs if p.category in POLICIES[policy]]


def counts(pairs: Sequence[Pair]) -> dict[str, int]:
    """How many pairs of each category; all four are named."""
    found = Counter(p.category for p in pairs)
    return {category: found[category] for category in CATEGORIES}


def render_pairs(pairs: Sequence[Pair], task_text: Callable[[Item], str], *, token_budget: int) -> str:
    """The comparison as prompt text of at most about `token_budget` tokens, in the order of `CATEGORIES`.

    Both attempts are shown except for what succeeded twice. A note says when conversations were cut to fit.
    """
    ordered = [p for category in CATEGORIES for p in pairs if p.category == category]
    whole = [_render(p, n, task_text(p.item), limit=10**9) for n, p in enumerate(ordered, 1)]
    if sum(map(estimated_tokens, whole)) <= token_budget or not ordered:
        return "\n\n".join(whole)
    limit = max(_SHORTEST, int(token_budget * CHARS_PER_TOKEN / (3 * len(ordered))))
    short = [_render(p, n, task_text(p.item), limit=limit) for n, p in enumerate(ordered, 1)]
    note = f"(Tasks and conversations were cut to about {limit} characters each so that all {len(ordered)} pairs fit.)"
    return "\n\n".join([note, *short])


def _render(one: Pair, ordinal: int, task: str, *, limit: int) -> str:
    lines = [f"### Pair {ordinal}: {one.category}", f"id: {one.item.id}", fenced(cut(task, limit), "task")]
    for name, rollout in (("previous", one.prev), ("current", one.curr)):
        scored: Scored | None = rollout.scored
        if scored is None or one.category == "stable_success":
            continue
        reason = f"; {cut(scored.fail_reason, 300)}" if scored.fail_reason else ""
        lines.append(f"With the {name} skill: hard {scored.hard:g}, soft {scored.soft:.3g}{reason}")
        lines.append(fenced(cut(conversation(rollout), limit), "conversation"))
    return "\n".join(lines)
