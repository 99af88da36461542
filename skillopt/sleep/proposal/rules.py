"""A learned rule is a record with an id; an edit of a document addresses rules by id, exactly.

The id is made of the rule's normalised text, so the same lesson found twice is one rule. A rule is one line: what a
model wrote is taken as it stands or refused with a reason, never repaired, and no character is added or lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillopt.core.hashing import text_digest

Op = Literal["add", "replace", "delete"]
OPS: tuple[Op, ...] = ("add", "replace", "delete")
State = Literal["proposed", "in_force", "rejected", "removed"]
STATES: tuple[State, ...] = ("proposed", "in_force", "rejected", "removed")
START = "<!-- SKILLOPT-SLEEP:LEARNED START -->"
END = "<!-- SKILLOPT-SLEEP:LEARNED END -->"
MARKER = "SKILLOPT-SLEEP:LEARNED"
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


def normalised(text: str) -> str:
    """The text by which rules are the same: compatibility forms unified, case folded, spaces and the final stop gone.

    >>> normalised("Put  Breaking changes first.")
    'put breaking changes first'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(" .;!")


def rule_id(text: str) -> str:
    """Twelve hex digits, equal for equal normalised texts."""
    return text_digest(normalised(text))[:12]


@dataclass(frozen=True)
class Rule:
    """One rule as the ledger keeps it. `measured_on` is the model key of the last measurement; `expiry` is how many
    nights it may stand without ever winning; `replaces` names the rule whose history it inherited."""

    id: str
    text: str
    target: str
    night: str = ""
    evidence: tuple[str, ...] = ()
    wins: int = 0
    losses: int = 0
    last_measured: str = ""
    measured_on: str = ""
    expiry: int = 60
    origin: Literal["learned", "user"] = "learned"
    replaces: str = ""
    state: State = "proposed"
    reason: str = ""

    def prunable(self, age: int) -> str:
        """Why it should be proposed for deletion, `age` nights after its own; "" when it should not."""
        if self.losses > self.wins:
            return f"lost {self.losses}, won {self.wins}"
        if age >= self.expiry and self.wins == 0:
            return f"won nothing in {age} nights"
        return ""


@dataclass(frozen=True)
class RuleEdit:
    """What reflection asks for. `rule_id` names the rule that is replaced or deleted; `evidence` are task ids."""

    op: Op
    text: str = ""
    rule_id: str = ""
    evidence: tuple[str, ...] = ()
    why: str = ""
    screen: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The rule this edit is about: the new text's, or the one deleted."""
        return self.rule_id if self.op == "delete" else rule_id(self.text)


@dataclass(frozen=True)
class Dropped:
    """An edit that was not taken, and why."""

    edit: RuleEdit
    reason: str


def refusal_of(text: str, *, max_chars: int) -> str:
    """Why a text cannot be a rule, "" when it can."""
    if not text.strip():
        return "the rule is empty"
    if text != text.strip():
        return "the rule begins or ends with a space"
    if any(c in text for c in _BREAKS):
        return "a rule is one line"
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in text) or _INVISIBLE.search(text):
        return "the rule holds control or invisible characters"
    if "<!--" in text or "-->" in text or MARKER in text:
        return "the rule holds a comment or a marker"
    if len(text) > max_chars:
        return f"the rule has {len(text)} characters, {max_chars} are allowed"
    return ""


def checked_edits(
    edits: Sequence[RuleEdit],
    *,
    in_force: Collection[str],
    rejected: Collection[str],
    budget: int,
    max_chars: int,
) -> tuple[list[RuleEdit], list[Dropped]]:
    """The edits that can be tried, at most `budget`, and the others with their reasons.

    `in_force` and `rejected` are rule ids. Equal texts, unknown ids and rules rejected before are dropped.
    """
    taken: list[RuleEdit] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for edit in edits:
        reason = _reason(edit, seen, in_force, rejected, max_chars)
        if not reason and len(taken) >= budget:
            reason = f"over the edit budget of {budget}"
        if reason:
            dropped.append(Dropped(edit, reason))
            continue
        seen.update(filter(None, (edit.id, edit.rule_id)))
        taken.append(edit)
    return taken, dropped


def _reason(
    edit: RuleEdit, seen: Collection[str], in_force: Collection[str], rejected: Collection[str], max_chars: int
) -> str:
    if edit.op != "add" and edit.rule_id not in in_force:
        return f"unmatched: no rule {edit.rule_id!r} is in force"
    if edit.op != "add" and edit.rule_id in seen:
        return "another edit of this night addresses the same rule"
    if edit.op == "delete":
        return ""
    if reason := refusal_of(edit.text, max_chars=max_chars):
        return reason
    if edit.id in seen or edit.id in in_force:
        return "equal to a rule that stands already"
    if edit.id in rejected:
        return "equal to a rule that was rejected before"
    return ""


def successor(old: Rule, text: str, *, night: str, evidence: tuple[str, ...]) -> Rule:
    """The rule that replaces another and inherits its history."""
    return replace(old, id=rule_id(text), text=text, night=night, evidence=evidence, replaces=old.id, state="proposed")
