"""The patch of an attempt, and its outcome: hard and soft are 1 where the instance is resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillopt.agents.base import Attempt
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_text
from skillopt.core.outcome import Missing, Outcome, Scored
from skillopt.core.shorten import shorten
from skillopt.envs.fences import fenced
from skillopt.envs.scorers.calling import FEEDBACK
from skillopt.envs.swebench.dataloader import Runtime, named_tests
from skillopt.envs.swebench.episode import LIMITS, changes
from skillopt.envs.swebench.grading import Verdict
from skillopt.envs.swebench.work import HARNESS, HARNESS_SECONDS, SANDBOX
from skillopt.work.errors import WorkFailed
from skillopt.work.executor import Executor
from skillopt.work.unit import Needs, Work

VERSION = 1
_SLACK_S = 60.0


@dataclass(frozen=True)
class Grading:
    """How patches are graded."""

    runtime: Runtime
    seconds: float
    memory_mb: int

    def work(self, item: Item, patch: str) -> Work:
        """What a worker does."""
        if self.runtime == "docker":
            payload: JsonObject = {"instance": item.data, "patch": patch, "seconds": self.seconds}
            needs = Needs(cpu=0.2, memory_mb=512, programs=("docker",))
            return Work(HARNESS, payload, needs=needs, deadline_s=HARNESS_SECONDS + _SLACK_S)
        payload = {
            "files": item.data["files"],
            "test_files": item.data["test_files"],
            "patch": patch,
            "fail_to_pass": named_tests(item, "FAIL_TO_PASS"),
            "pass_to_pass": named_tests(item, "PASS_TO_PASS"),
            "seconds": self.seconds,
            "memory_mb": self.memory_mb,
        }
        return Work(SANDBOX, payload, needs=Needs(cpu=1.0, memory_mb=256), deadline_s=self.seconds + _SLACK_S)


def patch_of(attempt: Attempt, before: Mapping[str, str] | None) -> tuple[str, str]:
    """The patch that an attempt came to, and how it ended in mini-swe-agent's words. `before` is the repository that an
    agent program was given; what it changed there counts, else the fenced patch of its last message."""
    if attempt.episode is not None:
        info = attempt.episode.info
        return as_text(info.get("submission")), as_text(info.get("exit_status")) or LIMITS
    left = changes(before, attempt.workspace.files) if attempt.workspace is not None and before is not None else ""
    block = fenced(attempt.text) or ""
    return left or (f"{block}\n" if "+++ " in block else ""), "Submitted"


async def score(item: Item, attempt: Attempt, patch: str, status: str, grading: Grading, executor: Executor) -> Outcome:
    """Grade a patch. Raises `WorkerLost`."""
    detail: dict[str, JsonValue] = {"protocol": grading.runtime, "exit_status": status, "model_patch": patch}
    if attempt.episode is not None:
        detail["turns"] = attempt.episode.turns
    if not patch.strip():
        return Scored(0.0, 0.0, fail_reason=f"swebench unresolved ({status}): no patch was handed in", detail=detail)
    try:
        verdict = Verdict.from_json(await executor.run(grading.work(item, patch)))
    except WorkFailed as error:
        return Missing(f"unexpected: the evaluation of a patch failed: {error.kind}: {error.message}")
    if verdict.missing:
        return Missing(verdict.missing)
    if verdict.resolved:
        return Scored(1.0, 1.0, predicted=shorten(patch, 200), detail=detail)
    detail[FEEDBACK] = verdict.reason
    reason = f"swebench unresolved ({status}): {shorten(verdict.reason, 300)}"
    return Scored(0.0, 0.0, fail_reason=reason, predicted=shorten(patch, 200), detail=detail)
