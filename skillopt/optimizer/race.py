"""Racing proposals on the batch's own items, before the gate spends selection items on one of them.

For optimizers whose single proposal is as often harmful as useful: several are sampled, each becomes a candidate, all
are tried on the same few training items (what the current skill failed, and some it passed), and the one that gains
most goes to the gate. Proposals that win on different items are joined and raced once more. Training items only: the
selection split stays unseen.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from skillopt.core.aio import gather_all
from skillopt.core.editing.change import Change, Rewrite
from skillopt.core.editing.edit import EditReport
from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue
from skillopt.core.leakage import VetoedEdit
from skillopt.core.outcome import Outcome
from skillopt.core.rollout import Rollout
from skillopt.core.skill import Skill
from skillopt.core.streams import numbered, shuffled

Try = Callable[[Skill, Sequence[Item]], Awaitable[list[Rollout]]]
Join = Callable[["Proposal", "Proposal"], Awaitable["Proposal | None"]]
"""Both changes in one proposal, the first with priority; None when they cannot be joined."""
Closeness = Callable[[Rollout], float]
Value = Callable[[Outcome], "float | None"]
"""What the run compares (the gate's metric); None for an outcome that was not measured."""


@dataclass(frozen=True)
class Proposal:
    """A change and the skill it makes: by edits (`report` says what became of each) or by a `rewrite`."""

    name: str
    change: Change
    skill: Skill
    report: EditReport = field(default_factory=EditReport)
    rewrite: Rewrite | None = None
    vetoed: tuple[VetoedEdit, ...] = ()
    """What was taken out of the change, or kept the rewrite from being adopted."""


@dataclass(frozen=True)
class Runner:
    """One proposal after its race: net gain over the current skill, in items, and the items it won and lost.

    `closeness` sums how much nearer to the gold values its answers are; it breaks ties between equal gains.
    """

    proposal: Proposal
    gain: float
    closeness: float
    won: tuple[str, ...]
    lost: tuple[str, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """A row of `race.json`."""
        return {
            "proposal": self.proposal.name,
            "skill_hash": self.proposal.skill.hash,
            "gain": round(self.gain, 6),
            "closeness": round(self.closeness, 6),
            "won": list(self.won),
            "lost": list(self.lost),
            **self.proposal.change.to_json(),
        }


def course(failures: Sequence[Rollout], successes: Sequence[Rollout], *, size: int, seed: int) -> list[Rollout]:
    """The items of a race: two thirds failures, one third successes, at most `size`, drawn with the batch seed."""
    keep = min(len(successes), size // 3)
    wrong = shuffled(failures, numbered(seed))[: size - keep]
    right = shuffled(successes, numbered(seed + 1))[: size - len(wrong)]
    return [*wrong, *right]


async def race(
    proposals: Sequence[Proposal],
    baseline: Sequence[Rollout],
    value: Value,
    closeness: Closeness,
    attempt: Try,
    join: Join,
) -> list[Runner]:
    """All runners, best first. Ties go to the closer answers, the shorter skill, the earlier proposal."""
    runners = await _run(proposals, baseline, value, closeness, attempt)
    joined = await _joined(_ranked(runners), join)
    if joined is not None:
        runners += await _run([joined], baseline, value, closeness, attempt)
    return _ranked(runners)


async def _run(
    proposals: Sequence[Proposal], baseline: Sequence[Rollout], value: Value, closeness: Closeness, attempt: Try
) -> list[Runner]:
    items = [r.item for r in baseline]

    async def one(proposal: Proposal) -> Runner:
        tried = await attempt(proposal.skill, items)
        pairs = [
            (r.item.id, new - old)
            for before, r in zip(baseline, tried, strict=True)
            if (new := value(r.outcome)) is not None and (old := value(before.outcome)) is not None
        ]
        return Runner(
            proposal,
            math.fsum(d for _, d in pairs),
            math.fsum(closeness(r) - closeness(before) for before, r in zip(baseline, tried, strict=True)),
            tuple(i for i, d in pairs if d > 0),
            tuple(i for i, d in pairs if d < 0),
        )

    return await gather_all([one(p) for p in proposals])


def _ranked(runners: Sequence[Runner]) -> list[Runner]:
    order = sorted(
        range(len(runners)),
        key=lambda n: (-runners[n].gain, -round(runners[n].closeness, 9), len(runners[n].proposal.skill.text), n),
    )
    return [runners[n] for n in order]


async def _joined(ranked: Sequence[Runner], join: Join) -> Proposal | None:
    """The winner's change together with that of the proposal that wins most of what the winner does not."""
    if not ranked or ranked[0].gain <= 0:
        return None
    first = ranked[0]
    others = [(len(set(r.won) - set(first.won)), -n) for n, r in enumerate(ranked) if n and r.gain > 0]
    fresh, index = max(others, default=(0, 0))
    if fresh == 0:
        return None
    second = ranked[-index]
    proposal = await join(first.proposal, second.proposal)
    known = (first.proposal.skill, second.proposal.skill)
    return None if proposal is None or proposal.skill in known else proposal
