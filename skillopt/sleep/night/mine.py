"""From drafts to tasks that can be scored: one question a draft, and only checks that tell the answers apart.

A check is kept when the good answer passes it and the bad one fails; a rubric when the judge, asked three times, is
right at least twice on both sides. A task without either is listed with the reason and not replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skillopt.core.json_types import JsonValue
from skillopt.core.outcome import Missing, Scored
from skillopt.sleep.calls import Calls, all_of
from skillopt.sleep.mining.miner import (
    SCHEMA,
    Mined,
    mined_of,
    prompt_values,
    rules_that_separate,
    still_a_pair,
    task_of,
)
from skillopt.sleep.mining.tasks import Draft
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.scoring.checks import CheckTimeout, passes, problem_of
from skillopt.sleep.scoring.judge import Judging
from skillopt.sleep.state.evidence import EvidenceLog
from skillopt.sleep.task import Check, Judge, TaskRecord

JUDGED, RIGHT = 3, 2


@dataclass(frozen=True)
class Miner:
    """One night's way from drafts to tasks. `names` are the clusters' names by id."""

    calls: Calls
    prompts: Prompts
    judging: Judging
    evidence: EvidenceLog
    names: Mapping[str, str]

    async def tasks(self, drafts: Sequence[Draft]) -> list[TaskRecord]:
        """A task for every draft, in order; those without a usable check have the reference kind `none`."""
        return await all_of([self._task(draft) for draft in drafts])

    async def _task(self, draft: Draft) -> TaskRecord:
        values = prompt_values(draft, self.names.get(draft.task.cluster_id, ""))

        def read(value: dict[str, JsonValue]) -> Mined:
            return mined_of(value, draft)

        mined = await self.calls.json(
            "optimizer", "mine", self.prompts.filled("miner", values), read, repeat=0, schema=SCHEMA
        )
        if isinstance(mined, Missing):
            return self._dropped(draft.task, f"not mined: {mined.error}")
        task = task_of(draft, mined, problem_of=problem_of)
        if draft.is_pair and not still_a_pair(draft, mined):
            task = replace(task, bad_answer="")
        if task.reference_kind == "none" or not task.good_answer:
            return self._dropped(task, "nothing to tell a right reply by")
        checks = rules_that_separate(task, _passes)
        if task.reference_kind == "rubric" and await self._separates(task):
            kept = replace(task, judge=Judge(checks) if checks else None)
        elif checks:
            kept = replace(task, reference_kind="rule", reference="", judge=Judge(checks))
        else:
            return self._dropped(task, "its checks do not tell the good answer from the bad one")
        self.evidence.write(
            "mine", "task", task=kept.id, cluster=kept.cluster_id, kind=kept.reference_kind, tier=kept.tier
        )
        return kept

    async def _separates(self, task: TaskRecord) -> bool:
        """Whether the rubric's judge knows the good answer and the bad one."""
        plain = replace(task, judge=None)
        sides = [(task.good_answer, True), *([(task.bad_answer, False)] if task.bad_answer else [])]
        jobs = [(text, wanted, n) for text, wanted in sides for n in range(JUDGED)]
        said = await all_of([self.judging.score(plain, text, phase="mine", repeat=n) for text, _, n in jobs])
        right = {True: 0, False: 0}
        for (_, wanted, _), outcome in zip(jobs, said, strict=True):
            right[wanted] += isinstance(outcome, Scored) and (outcome.hard == 1) == wanted
        return all(right[wanted] >= RIGHT for _, wanted in sides)

    def _dropped(self, task: TaskRecord, why: str) -> TaskRecord:
        self.evidence.write("mine", "task_dropped", task=task.id, why=why)
        return replace(task, reference_kind="none", reference="", judge=None, tags=(*task.tags, f"dropped: {why}"))


def _passes(check: Check, reply: str) -> bool:
    """A check that runs out of time tells nothing apart."""
    try:
        return passes(check, reply)
    except CheckTimeout:
        return False


def with_rules_only(drafts: Sequence[Draft]) -> list[TaskRecord]:
    """Without a model that mines there is nothing to score a reply by."""
    return [replace(draft.task, tags=("dropped: llm_mine is off",)) for draft in drafts]
