"""Option order and score of a LiveMathematicianBench question. Pure functions, golden values.

The order is that of `Random(int(sha256("<seed>:<id>").hexdigest()[:16], 16)).shuffle(options)`, labels then given anew.
A reply chooses by bare label (trailing `.`, `)`, `:` aside), by the exact text of an option, or by a leading label.
`(B)` and `The answer is B` choose nothing: kept for comparability, the prompt asks for the bare label.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from string import ascii_uppercase
from typing import TypeVar

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.core.streams import shuffled
from skillopt.envs.scorers.base import shorten
from skillopt.envs.scorers.extract import extract_answer

SEED = "option_seed"
"""Field of an item that holds the seed of its order."""
_DEFAULT_SEED = 42
T = TypeVar("T")


def ordered(choices: Sequence[T], item_id: str, seed: int) -> list[T]:
    """The options in the order of a seed."""
    number = int(hashlib.sha256(f"{seed}:{item_id}".encode()).hexdigest()[:16], 16)
    return shuffled(choices, random.Random(number))


def options(item: Item) -> dict[str, str]:
    """Label → text as the target sees them."""
    choices = ordered(item.data["choices"], item.id, int(item.data.get(SEED, _DEFAULT_SEED)))
    return dict(zip(ascii_uppercase, choices, strict=False))


def gold(item: Item) -> tuple[str, str]:
    """Label and text of the right option."""
    return next((label, text) for label, text in options(item).items() if text == item.data["correct"])


def chosen(answer: str, labelled: dict[str, str]) -> str | None:
    """The label that an answer chooses, or None.

    >>> chosen("B) infinite", {"A": "finite", "B": "infinite"})
    'B'
    """
    bare = _label(answer)
    if bare in labelled:
        return bare
    for label, text in labelled.items():
        if text.strip().lower() == answer.strip().lower():
            return label
    first = answer.split()[:1]
    lead = _label(first[0]) if first else ""
    return lead if lead in labelled else None


def _label(text: str) -> str:
    return text.strip().upper().rstrip(".):")


def score(item: Item, text: str) -> Scored:
    """hard = soft = whether the right label was chosen."""
    answer = extract_answer(text, "answer_tag")
    label = chosen(answer, options(item))
    right, meant = gold(item)
    hit = float(label == right)
    said = f"chose {label}" if label else f"named no option ({shorten(answer)!r})"
    reason = "" if hit else f"{said}, expected {right}: {shorten(meant)}"
    return Scored(hit, hit, fail_reason=reason, predicted=label or answer)
