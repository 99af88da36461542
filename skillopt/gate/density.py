"""Semantic density: a bonus for the share of leading words (MUST, NEVER, …) in a skill's own text.

It rewards shouting and measures nothing, so it is off by default and exists to repeat published runs. The bonus depends
on the text alone: it is known before any item is asked, which keeps an early stop exact. Protected text (header and
regions) is not the body and does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skillopt.core.skill import Skill

LEADING_WORDS = (
    "must", "always", "never", "only", "critical", "important", "resolve", "prefer", "ensure", "strict", "verify",
)  # fmt: skip
_WORD = re.compile(r"[a-zA-Z0-9]+")


def words_outside(skill: Skill) -> list[str]:
    """Runs of ASCII letters and digits, lower-cased, in the text outside protected regions and header."""
    words: list[str] = []
    at = 0
    for span in sorted(skill.protected, key=lambda s: s.start):
        words += _WORD.findall(skill.text[at : span.start]) if span.start > at else []
        at = max(at, span.end)
    words += _WORD.findall(skill.text[at:])
    return [word.lower() for word in words]


def density(skill: Skill, leading: Iterable[str] | None = None) -> float:
    """Share of leading words among the words of the body, 0 to 1; 0 for a body without words.

    `leading` replaces the built-in words; what it names is compared lower-cased, a phrase word by word.
    """
    words = words_outside(skill)
    wanted = {part.lower() for word in (LEADING_WORDS if leading is None else leading) for part in _WORD.findall(word)}
    return sum(word in wanted for word in words) / len(words) if words else 0.0


def bonus(skill: Skill, weight: float, leading: Iterable[str] | None = None) -> float:
    """What the gate adds to the skill's measured score: `weight` times its density."""
    return weight * density(skill, leading)
