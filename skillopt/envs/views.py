"""The rollout directory: `results.jsonl` and `predictions/<safe id>/…`, written from rollouts.

A view, not a record: it holds no clock value and no path, equal rollouts give equal bytes, and deleting it loses
nothing. Each file is replaced atomically; `results.jsonl` comes last, so a directory that has it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skillopt.core.item import ID_MAP, Item, safe_name
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.store.atomic import write_json, write_text


def rollout_row(rollout: Rollout, task_text: str | None = None) -> dict[str, Any]:
    """A row of `results.jsonl`: the outcome with its status. A missing row has no scores."""
    item, outcome = rollout.item, rollout.outcome
    question = item.data.get("question")
    shown = question if isinstance(question, str) else rollout.user_prompt
    row: dict[str, Any] = {"id": item.id}
    if isinstance(outcome, Scored):
        row |= {"status": "scored", "hard": outcome.hard, "soft": outcome.soft}
    else:
        row |= {"status": "missing", "error": outcome.error if isinstance(outcome, Missing) else "not measured"}
    turns = rollout.agent.get("turns")  # a round that only calls tools has no message
    said = sum(entry.get("type") == "message" for entry in rollout.trajectory)
    row["n_turns"] = turns if isinstance(turns, int) else said
    row["task_type"] = item.task_type
    row["task_description"] = task_text if task_text is not None else shown
    if isinstance(question, str):
        row["question"] = question
    if isinstance(outcome, Scored):
        row |= {"fail_reason": outcome.fail_reason, "predicted_answer": outcome.predicted}
        if outcome.detail:
            row["detail"] = dict(outcome.detail)
    if rollout.repeat:
        row["repeat"] = rollout.repeat
    row["skill_hash"] = rollout.skill_hash
    row["tokens"] = dict(rollout.tokens)
    if rollout.agent:
        row |= {"agent_ok": rollout.agent.get("exit_reason") == "completed", "agent": dict(rollout.agent)}
    return row


def write_rollout_dir(
    path: Path, rollouts: Sequence[Rollout], *, task_text: Callable[[Item], str] | None = None
) -> None:
    """Write the directory of one evaluation (each item once). `id_map.json` gives the id of each directory name.

    Raises `RunDirError` when the file system refuses.
    """
    names = {safe_name(rollout.item.id): rollout.item.id for rollout in rollouts}
    rows: list[str] = []
    for rollout in rollouts:
        folder = path / "predictions" / safe_name(rollout.item.id)
        write_json(folder / "conversation.json", [dict(entry) for entry in rollout.trajectory], durable=False)
        write_text(folder / "target_system_prompt.txt", rollout.system_prompt, durable=False)
        write_text(folder / "target_user_prompt.txt", rollout.user_prompt, durable=False)
        row = rollout_row(rollout, task_text(rollout.item) if task_text else None)
        rows.append(_line(row))
    write_json(path / "predictions" / ID_MAP, names, durable=False)
    write_text(path / "results.jsonl", "".join(rows), durable=False)


def _line(row: dict[str, Any]) -> str:
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    if not line.isascii() and any("\ud800" <= char <= "\udfff" for char in line):
        line = json.dumps(row, allow_nan=False)  # a lone surrogate has no UTF-8; escaped it is valid JSON
    return line + "\n"
