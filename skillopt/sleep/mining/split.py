"""Which tasks are held out: decided once per task, written to the ledger, never changed.

Within a cluster the instances are divided by a seeded hash of their session, so that about `val_fraction` are held out;
of two instances one is, a single one is for training. So the gate asks whether the lesson of one session would have
helped in another of the same kind. A paraphrase cannot move a task: its id does not depend on its words.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.task import SPLITS, Split, TaskRecord


@dataclass(frozen=True)
class Shares:
    """How much is held out, and the seed of who."""

    val: float
    test: float
    seed: int


def assigned(tasks: Sequence[TaskRecord], known: Mapping[str, Split], shares: Shares) -> dict[str, Split]:
    """The split of each task: the known one, else by the rule. Dreams are always for training."""
    decided: dict[str, Split] = {task.id: known[task.id] for task in tasks if known.get(task.id, "")}
    counts: dict[str, Counter[Split]] = {}
    for task_id, split in known.items():
        counts.setdefault(task_id.rsplit(".", 1)[0], Counter())[split] += 1
    for task in sorted((t for t in tasks if t.id not in decided), key=lambda t: _drawn(t.id, shares.seed)):
        if task.origin == "dream":
            decided[task.id] = "train"
            continue
        group = counts.setdefault(task.cluster_id, Counter())
        decided[task.id] = _next(group, shares)
        group[decided[task.id]] += 1
    return decided


class SplitLedger:
    """The splits that were decided, as one project's database keeps them."""

    def __init__(self, database: StateDatabase) -> None:
        self.database = database

    def known(self) -> dict[str, Split]:
        """By task id."""
        rows = self.database.rows("SELECT id, split FROM tasks")
        return {str(task_id): split for task_id, text in rows for split in SPLITS if split == text}

    def decide(self, tasks: Sequence[TaskRecord], shares: Shares, *, now: float) -> dict[str, Split]:
        """The split of each task; new decisions are written down."""
        with self.database.transaction():
            decided = assigned(tasks, self.known(), shares)
            for task in tasks:
                if task.origin != "dream":
                    self.database.run(
                        "INSERT OR IGNORE INTO tasks (id, cluster_id, split, created_at) VALUES (?, ?, ?, ?)",
                        (task.id, task.cluster_id, decided[task.id], now),
                    )
        return decided


def _next(group: Counter[Split], shares: Shares) -> Split:
    n = sum(group.values()) + 1
    if n == 1:
        return "train"
    held = min(n - 1, max(1, int(shares.val * n + 0.5))) if shares.val > 0 else 0
    if group["val"] < held:
        return "val"
    test = int(shares.test * n + 0.5) if shares.test > 0 and n > 2 else 0
    return "test" if group["test"] < test and group["train"] > 0 else "train"


def _drawn(task_id: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{task_id}".encode()).hexdigest()
