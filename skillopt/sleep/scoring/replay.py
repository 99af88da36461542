"""Replays: a past request asked afresh under given documents, and its reply scored.

Only the text tier is played: one fresh call with the documents, the request and what was said before its first answer.
The correction, the good answer and everything later are not in the prompt. A sample's index is part of its key, so a
resumed night pays none twice and a confirmation never meets a trial's sample again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.fencing import fenced
from skillopt.core.outcome import Missing, Scored
from skillopt.gate.metric import Metric
from skillopt.sleep.calls import Calls, all_of
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.scoring.judge import Judging
from skillopt.sleep.task import TaskRecord
from skillopt.sleep.trial.decision import Sample, TaskPair


@dataclass(frozen=True)
class Documents:
    """What stands before a request: the texts of the skill and the memory file, blank where there is none."""

    skill: str = ""
    memory: str = ""

    def shown(self) -> str:
        """The documents as a prompt shows them."""
        parts = [fenced(text.strip(), label) for label, text in (("memory", self.memory), ("skill", self.skill)) if
                 text.strip()]  # fmt: skip
        return "\n\n".join(parts) or "(none)"


@dataclass(frozen=True)
class Reply:
    """One replay."""

    task_id: str
    repeat: int
    text: str
    outcome: Scored | Missing


@dataclass(frozen=True)
class Replayer:
    """One night's way to replies and their scores."""

    calls: Calls
    prompts: Prompts
    judging: Judging
    metric: Metric

    async def once(self, task: TaskRecord, documents: Documents, *, phase: str, repeat: int) -> Reply:
        """One sample."""
        prompt = self.prompts.filled(
            "attempt",
            {
                "documents": documents.shown(),
                "context": fenced("\n".join(task.context)) if task.context else "(nothing)",
                "request": task.intent,
            },
        )
        said = await self.calls.text("target", phase, prompt, repeat=repeat)
        if isinstance(said, Missing):
            return Reply(task.id, repeat, "", said)
        return Reply(task.id, repeat, said, await self.judging.score(task, said, phase=phase, repeat=repeat))

    async def samples(
        self, tasks: Sequence[TaskRecord], documents: Documents, *, phase: str, first: int, count: int
    ) -> dict[str, list[Reply]]:
        """`count` samples of every task, numbered from `first`; missing ones are tried once more at the end."""
        jobs = [(task, repeat) for repeat in range(first, first + count) for task in tasks]
        replies = await all_of([self.once(task, documents, phase=phase, repeat=repeat) for task, repeat in jobs])
        again = [i for i, reply in enumerate(replies) if isinstance(reply.outcome, Missing)]
        if again:
            retried = [self.once(jobs[i][0], documents, phase=phase, repeat=jobs[i][1]) for i in again]
            for i, reply in zip(again, await all_of(retried), strict=True):
                replies[i] = reply
        found: dict[str, list[Reply]] = {task.id: [] for task in tasks}
        for reply in replies:
            found[reply.task_id].append(reply)
        return found

    async def pairs(
        self, tasks: Sequence[TaskRecord], before: Documents, after: Documents, *, phase: str, first: int, count: int
    ) -> tuple[list[TaskPair], dict[str, tuple[list[Reply], list[Reply]]]]:
        """Fresh samples of both sides, interleaved, with the replies."""
        old, new = await all_of(
            [self.samples(tasks, side, phase=phase, first=first, count=count) for side in (before, after)]
        )
        pairs = [TaskPair(t.id, self._samples(old[t.id]), self._samples(new[t.id])) for t in tasks]
        return pairs, {t.id: (old[t.id], new[t.id]) for t in tasks}

    def _samples(self, replies: Sequence[Reply]) -> tuple[Sample, ...]:
        return tuple(
            Sample(self.metric.value(r.outcome), isinstance(r.outcome, Scored) and r.outcome.hard == 1) for r in replies
        )
