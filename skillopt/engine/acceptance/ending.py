"""A look at the selection split is an effect: the journal knows each ending of a run and what it proved.

So a look is never taken twice. An ending that is repeated (a run killed while it looked, or started again) finds its
own entry and decides as before; a run that was extended and ends with another text takes the next entry, at its share
of the level (`gate.alpha`): all endings together never spend more. The entry is written before the first selection item
is asked: the price is paid even when the look is interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillopt.core.hashing import digest
from skillopt.core.skill import Skill
from skillopt.engine.decision import Decision, Proof
from skillopt.engine.run.context import RunContext
from skillopt.gate.alpha import level_of, spent_by
from skillopt.store.journal import Recorded


@dataclass(frozen=True)
class Ending:
    """The `number`-th look of a run whose endings share the level `total`."""

    number: int
    total: float
    entry: int = 0
    """Its place among the entries of the journal, of which those that saw no item are no endings."""

    @property
    def alpha(self) -> float:
        """The level of this look."""
        return level_of(self.total, self.number)

    @property
    def spent(self) -> float:
        """The levels of all endings so far, summed: the error of the run as a whole."""
        return spent_by(self.total, self.number)

    @property
    def left(self) -> float:
        """What all further endings may spend together."""
        return round(self.total - self.spent, 12)


def ending_of(context: RunContext, text: Skill) -> Ending:
    """The ending that looks at this text: its own where it was looked at before, else the next one."""
    entry, unseen = 1, 0
    looked = {"text": text.hash, "against": context.initial.hash, "items": _items(context)}
    while True:
        if context.journal.get(f"look {entry} saw nothing") is not None:
            unseen += 1
        else:
            fact = Recorded(looked, kind="fact", stage="look", calls=0)
            if context.journal.put_now(f"look {entry}", fact).value == looked:
                return Ending(entry - unseen, context.config.evaluation.gate_alpha, entry)
        entry += 1


def saw_nothing(context: RunContext, ending: Ending) -> None:
    """Take an entry back: the run was stopped before any item told it something, so nothing was spent."""
    fact = Recorded(True, kind="fact", stage="look", calls=0)
    context.journal.put_now(f"look {ending.entry} saw nothing", fact)


def remember(context: RunContext, ending: Ending, decision: Decision) -> None:
    """Record what a look came to."""
    value = {
        "proven": decision.verdict.accepted,
        "text": decision.decided_on.text,
        "origin": decision.origin,
        "step": decision.step,
    }
    context.journal.put_now(f"outcome of look {ending.entry}", Recorded(value, kind="fact", stage="look", calls=0))


def last_proof(context: RunContext) -> Proof | None:
    """The last text that an ending of this run proved, None when there is none."""
    found: Proof | None = None
    number = 1
    while (entry := context.journal.get(f"look {number}")) is not None:
        outcome = context.journal.get(f"outcome of look {number}")
        value: dict[str, Any] = outcome.value if outcome is not None else {}
        same = entry.value["against"] == context.initial.hash and entry.value["items"] == _items(context)
        if value.get("proven") and same:
            found = Proof(Skill(value["text"]), value["origin"], value["step"])
        number += 1
    return found


def reading_of(context: RunContext, texts: list[Skill]) -> int:
    """Which reading of the sealed test this is: every set of texts that is tested is one, however often it is run."""
    number, tested = 1, sorted(text.hash for text in texts)
    while True:
        fact = Recorded(tested, kind="fact", stage="test", calls=0)
        if context.journal.put_now(f"test reading {number}", fact).value == tested:
            return number
        number += 1


def _items(context: RunContext) -> str:
    return digest([item.digest for item in context.selection])
