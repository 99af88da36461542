"""`items.jsonl`: the run's items with their split, right answers and images, so that people can be shown what was asked
for; the images are files in `item_images/`, named by their content.

Written once, before the first step; nothing of the run reads it, no prompt is made from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.records.codec import OMIT

FILE = "items.jsonl"
IMAGES = "item_images"
IMAGE_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_IMAGE = re.compile(r"[0-9a-f]{64}\.(png|jpg|gif|webp)")
_HASHED = re.compile(r"(?:\w{0,24}-)?[0-9a-f]{10,64}")
_NAME_CHARS = 48


@dataclass(frozen=True, kw_only=True)
class ItemRow:
    """One item. `golds` are its right answers as text, where the environment has any."""

    id: str
    split: str
    task_type: str = ""
    golds: tuple[str, ...] = ()
    images: tuple[str, ...] = field(default=(), metadata=OMIT)
    """Files in `item_images/`, in the order of the message; those beyond what a run keeps are left out."""


def image_file(root: Path, name: str) -> tuple[Path, str] | None:
    """The file of an item's image in a run and its type; None for a name that is none, or leads elsewhere."""
    found = _IMAGE.fullmatch(name)
    path = root / IMAGES / name
    if found is None or path.is_symlink() or path.parent.is_symlink() or not path.is_file():
        return None
    return path, IMAGE_TYPES[found[1]]


def readable_name(item_id: str, question: str) -> str:
    """The id where it says something, else the question's first words with the id's beginning.

    >>> readable_name("d9f4a1b2c3d4e5f6", "What is in box 40?")
    'What is in box 40? (d9f4a1b2)'
    """
    words = " ".join(question.split())
    if not words or not _HASHED.fullmatch(item_id) or not re.search(r"\d", item_id):
        return item_id
    short = words if len(words) <= _NAME_CHARS else words[: _NAME_CHARS - 1].rstrip() + "…"
    return f"{short} ({item_id.rpartition('-')[2][:8]})"
