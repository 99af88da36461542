"""`items.jsonl`: the run's items with their split and right answers, so that people can be shown what was asked for.

Written once, before the first step; nothing of the run reads it, no prompt is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass

FILE = "items.jsonl"


@dataclass(frozen=True, kw_only=True)
class ItemRow:
    """One item. `golds` are its right answers as text, where the environment has any."""

    id: str
    split: str
    task_type: str = ""
    golds: tuple[str, ...] = ()
