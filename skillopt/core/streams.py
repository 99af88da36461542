"""Named random streams. Each use has its own generator, so streams never interact and resuming cannot shift them.

The published batch plan seeds `random.Random` with plain integers (`numbered`); everything new draws from a stream
named after its purpose (`named`). The global generator is never used.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def numbered(seed: int) -> random.Random:
    """The generator of the published formulas: `random.Random(seed)`."""
    return random.Random(seed)


def named(seed: int, *names: str | int) -> random.Random:
    """A generator for one purpose, for example `named(seed, "race", step)`. Equal arguments give equal streams."""
    label = ":".join([str(seed), *map(str, names)])
    return random.Random(int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big"))


def shuffled(items: Sequence[T], generator: random.Random) -> list[T]:
    """A shuffled copy; the input is left alone."""
    copy = list(items)
    generator.shuffle(copy)
    return copy
