"""Rules of the simulated world and the sentences that carry them.

A rule's name is an opaque word. A skill holds a rule when a line asks for it, unless another line takes it back; a
reminder of a held rule makes the target forget it less often.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

WORDINGS = (
    "When a ticket calls for it, use routine {code} before closing.",
    "Apply routine {code}; it comes ahead of anything else that fits.",
    "Check whether routine {code} is due, and carry it out to the end.",
)
VETO = "Leave out routine {code}, also where another line asks for it."
REMINDER = "Remember routine {code} in the moment it is due."
REMEMBERED = "remembered "
"""Before the code, in a set of codes: the skill reminds of the rule."""

CODE = re.compile(r"\b[a-z]{3}-[a-z]{5}\b")
_VETOED = re.compile(r"\bLeave out routine ([a-z]{3}-[a-z]{5})\b")
_REMEMBERED = re.compile(r"\bRemember routine ([a-z]{3}-[a-z]{5})\b")


@dataclass(frozen=True)
class Rule:
    """One sentence a skill may hold. `kind` is useful, useless or harmful; `number` counts within the kind."""

    code: str
    kind: str
    number: int


def worded(rule: Rule, luck: random.Random, wordings: int) -> str:
    """A rule as a line of a skill, in one of so many wordings."""
    return "- " + WORDINGS[luck.randrange(min(wordings, len(WORDINGS)))].format(code=rule.code)


def veto(rule: Rule) -> str:
    """A line that takes a rule back."""
    return "- " + VETO.format(code=rule.code)


def reminder(rule: Rule) -> str:
    """A note that reminds of a rule."""
    return REMINDER.format(code=rule.code)


def asked_for(text: str) -> tuple[set[str], set[str]]:
    """Codes a skill asks for and codes it reminds of."""
    vetoed, remembered = set(_VETOED.findall(text)), set(_REMEMBERED.findall(text))
    rest = _REMEMBERED.sub("", _VETOED.sub("", text))
    used = set(CODE.findall(rest)) - vetoed
    return used, remembered & used
