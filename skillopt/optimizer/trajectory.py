"""Trajectories as an analyst reads them, cut to a token budget that is stated where something was cut.

The skill is shown once and whole by the caller and never repeated here. Every text that came from a task or a model is
fenced as data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.core.json_types import JsonObject
from skillopt.core.rollout import Rollout
from skillopt.optimizer.prompting import fenced

CHARS_PER_TOKEN = 3.5


def estimated_tokens(text: str) -> int:
    """A cautious estimate for budgets; never used as usage."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def cut(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than `limit` characters, with what was left out in between."""
    if len(text) <= limit:
        return text
    head = max(0, limit * 2 // 3)
    tail = max(0, limit - head)
    return f"{text[:head]}\n[… {len(text) - head - tail} characters cut …]\n{text[len(text) - tail :] if tail else ''}"


def _line(entry: JsonObject) -> str:
    if entry.get("type") == "tool_call":
        return f"ACTION: {entry.get('cmd', '')}\nOBSERVATION: {entry.get('obs', '')}"
    if "action" in entry:
        think = f"THINK: {entry['reasoning']}\n" if entry.get("reasoning") else ""
        hint = f"\nHINT (the target does not see it): {entry['hint']}" if entry.get("hint") else ""
        return f"{think}ACTION: {entry['action']}\nOBSERVATION: {entry.get('env_feedback', '')}{hint}"
    role = str(entry.get("role") or entry.get("type") or "message")
    label = {"system": "VERIFICATION", "message": "TARGET"}.get(role, role.upper())
    return f"{label}: {entry.get('content', '')}"


def conversation(rollout: Rollout) -> str:
    """What was said and done, one entry after the other."""
    return "\n".join(map(_line, rollout.trajectory)) or "(no conversation was recorded)"


@dataclass(frozen=True)
class Task:
    """What an analyst is told of an item: its text, and what the environment knows of its solution (often nothing)."""

    text: str
    reference: str = ""


def render(rollout: Rollout, ordinal: int, task: Task, *, limit: int) -> str:
    """One trajectory of at most about `limit` characters: header, task, hidden reference, conversation."""
    outcome = rollout.scored
    header = [f"### Trajectory {ordinal}", f"id: {rollout.item.id}"]
    if rollout.item.task_type:
        header.append(f"task type: {rollout.item.task_type}")
    if outcome is not None:
        header.append(f"score: hard {outcome.hard:g}, soft {outcome.soft:.3g}")
        if outcome.fail_reason:
            header.append(f"failure reason: {cut(outcome.fail_reason, 600)}")
        if feedback := outcome.detail.get("feedback"):
            header.append(f"feedback: {cut(str(feedback), 600)}")
    header.append(f"turns: {sum(e.get('type') == 'message' for e in rollout.trajectory)}")
    share = max(200, limit // (3 if task.reference else 2))
    blocks = [fenced(cut(task.text, share), "task")]
    if task.reference:
        blocks.append(
            f"hidden reference (the target does not see it):\n{fenced(cut(task.reference, share), 'reference')}"
        )
    blocks.append(fenced(cut(conversation(rollout), share), "conversation"))
    return "\n".join([*header, *blocks])


def render_group(rollouts: Sequence[Rollout], tasks: Sequence[Task], *, token_budget: int) -> str:
    """All trajectories of a group within `token_budget`; a note says when they were shortened to fit."""
    if not rollouts:
        return ""
    whole = [render(r, n, t, limit=10**9) for n, (r, t) in enumerate(zip(rollouts, tasks, strict=True), 1)]
    if sum(map(estimated_tokens, whole)) <= token_budget:
        return "\n\n".join(whole)
    limit = max(400, int(token_budget * CHARS_PER_TOKEN / len(rollouts)))
    short = [render(r, n, t, limit=limit) for n, (r, t) in enumerate(zip(rollouts, tasks, strict=True), 1)]
    note = f"(Each trajectory was cut to about {limit} characters so that all {len(rollouts)} fit.)"
    return "\n\n".join([note, *short])


def contrast(rollout: Rollout, task_text: str, golds: Sequence[str], *, limit: int = 700) -> str:
    """A case in three lines: input, what the target answered, what was expected. For small optimizers."""
    outcome = rollout.scored
    answered = outcome.predicted if outcome is not None else ""
    return (
        f"Input: {cut(' '.join(task_text.split()), limit)}\n"
        f"Answered: {cut(' '.join(answered.split()), 200) or '(nothing)'}\n"
        f"Expected: {cut(' | '.join(golds), 200)}"
    )
