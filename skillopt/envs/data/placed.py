"""Items placed in splits, and what is checked of them: an id that stands twice is refused; equal text under two ids
over splits, and a split of one item, are worth a warning.
"""

from __future__ import annotations

from collections.abc import Callable

from skillopt.core.errors import DataError
from skillopt.core.item import SPLITS, Item

_TOLD = 3
"""Warnings of one kind that are spelt out."""


Placed = dict[str, list[tuple[Item, str]]]


def check_unique(placed: Placed) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for split in SPLITS:
        for item, where in placed[split]:
            if item.id in seen:
                other_split, other = seen[item.id]
                raise DataError(
                    f"item id {item.id!r} stands twice: {other} ({other_split}) and {where} ({split})",
                    hint="ids must be unique over all splits",
                )
            seen[item.id] = (split, where)


def near_duplicates(placed: Placed, text: Callable[[Item], str]) -> list[str]:
    seen: dict[str, tuple[str, str]] = {}
    warnings: list[str] = []
    for split in SPLITS:
        for item, _ in placed[split]:
            key = " ".join("".join(c if c.isalnum() else " " for c in text(item).casefold()).split())
            first = seen.setdefault(key, (split, item.id))
            if first[0] != split:
                warnings.append(f"same text in two splits: {first[1]!r} ({first[0]}) and {item.id!r} ({split})")
    more = len(warnings) - _TOLD
    return warnings if more <= 0 else [*warnings[:_TOLD], f"same text in two splits: {more} more"]


def too_small(placed: Placed) -> list[str]:
    return [
        f"the {split} split has one item: no gain on it can be told from chance"
        for split in ("selection", "test")
        if len(placed[split]) == 1
    ]
