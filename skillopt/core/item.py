"""One task. Immutable; identity is its content.

`data` is what the environment reads (question, context, golds …); `id` is opaque and unique over all splits of a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from skillopt.core.hashing import digest, text_digest

SPLITS = ("train", "selection", "test")
SPLIT_ALIASES = {
    "train": "train",
    "selection": "selection",
    "val": "selection",
    "valid_seen": "selection",
    "test": "test",
    "valid_unseen": "test",
}

ID_MAP = "id_map.json"
"""Stands beside the directories that `safe_name` names, so no id may be called so."""


@dataclass(frozen=True)
class Item:
    """One task of an environment. `data` must be JSON-serialisable; `task_type` groups items in tables."""

    id: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    task_type: str = ""

    @cached_property
    def digest(self) -> str:
        """Identity of the content (id, data and type), 64 hex digits."""
        return digest({"id": self.id, "data": dict(self.data), "task_type": self.task_type})


def safe_name(item_id: str) -> str:
    """The one mapping from an opaque id to a directory name: readable where possible, unique always, never a path."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", item_id) and not item_id.endswith(".")
    if plain and item_id.lower() != ID_MAP:
        return item_id
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", item_id).strip("_")[:48]
    return f"{readable or 'item'}-{text_digest(item_id)[:12]}"
