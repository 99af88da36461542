"""What the person of a synthetic month asks: recurring kinds in several wordings, requests that come once, and talk.

The wordings of one kind were written to differ as people's do: some share few words with the first. Slots in braces are
filled at random. The texts are in `words.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kind:
    """A kind of request that comes back: wordings, answers, and how it is corrected."""

    name: str
    wordings: tuple[str, ...]
    bad: str
    good: str
    corrections: tuple[str, ...]


_TEXTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
KINDS: tuple[Kind, ...] = tuple(
    Kind(k["name"], tuple(k["wordings"]), k["bad"], k["good"], tuple(k["corrections"])) for k in _TEXTS["kinds"]
)
SLOTS: dict[str, tuple[str, ...]] = {name: tuple(values) for name, values in _TEXTS["slots"].items()}
ONCE: tuple[str, ...] = tuple(_TEXTS["once"])
TALK: tuple[str, ...] = tuple(_TEXTS["talk"])
SECRETS: tuple[str, ...] = tuple(_TEXTS["secrets"])
POISON: str = _TEXTS["poison"]
