"""Tasks of earlier nights, kept as records so that a later night can recall them; as long as digests are kept.

Only what was decided to be for training is ever given back: a held-out task stays out of every later lesson.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from skillopt.core.json_types import JsonObject, as_object, parse_json
from skillopt.sleep.mining.similarity import likeness, tokens_of
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.task import TaskRecord, record_of


class TaskArchive:
    """The records in one project's database; the rows are those of the split ledger."""

    def __init__(self, database: StateDatabase) -> None:
        self.database = database

    def keep(self, tasks: Sequence[TaskRecord]) -> None:
        """Keep tasks whose split is decided."""
        with self.database.transaction():
            for task in tasks:
                body = json.dumps(asdict(task), ensure_ascii=False)
                self.database.run("UPDATE tasks SET body = ? WHERE id = ?", (body, task.id))

    def expire(self, before: float) -> None:
        """Forget the texts of tasks that were decided on before; their splits stay."""
        self.database.run("UPDATE tasks SET body = '' WHERE created_at < ?", (before,))

    def recalled(self, tonight: Sequence[TaskRecord], k: int) -> list[TaskRecord]:
        """The `k` train tasks most like tonight's, none that is unlike all of them, most like first."""
        if k <= 0 or not tonight:
            return []
        rows = self.database.rows("SELECT body FROM tasks WHERE split = 'train' AND body <> '' ORDER BY id")
        here = {task.id for task in tonight}
        words = [tokens_of(task.intent) for task in tonight]
        ranked: list[tuple[float, str, TaskRecord]] = []
        for (body,) in rows:
            value: JsonObject = as_object(parse_json(str(body)))
            task = record_of(value)
            alike = max(likeness(tokens_of(task.intent), own) for own in words)
            if task.id not in here and alike > 0:
                ranked.append((-alike, task.id, task))
        ranked.sort(key=lambda entry: entry[:2])
        return [replace(task, split="train", origin="recall", derived_from=name) for _, name, task in ranked[:k]]
