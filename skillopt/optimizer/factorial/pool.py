"""The pool: every edit that was proposed and may be tried, and what belongs together.

A factor is one edit that is in or out. Factors of one family say the same in other words, or are variants of one idea:
at most one of them is in a skill, and a repeated proposal adds to the support of the family instead of growing the
pool. Two edits on one place of the text are alternatives too; an edit whose anchor another edit made needs that one.
Factors are numbered in the order of their birth, and everything that depends on order goes by that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from skillopt.core.editing.edit import Edit
from skillopt.core.hashing import skill_hash
from skillopt.optimizer.factorial.identity import SAME, Meaning, Vocabulary

Subset = frozenset[int]
"""Numbers of the factors that are in."""


@dataclass(frozen=True)
class Proposal:
    """An edit as the optimizer proposed it."""

    edit: Edit
    shown: tuple[str, ...] = ()
    """Items that the optimizer saw."""
    addressed: tuple[str, ...] = ()
    """Those of them that the edit is meant for; empty when the optimizer did not say."""
    variant_of: int | None = None
    """The factor that it words or does differently, on purpose."""
    same_as: int | None = None
    """The factor that the optimizer itself calls the same."""


@dataclass
class Factor:
    """One edit of the pool."""

    number: int
    edit: Edit
    born: int
    """Round in which it joined."""
    family: int
    """Number of the family's first factor."""
    support: int = 1
    """How often it was proposed, in whatever words."""
    own: set[str] = field(default_factory=set[str])
    """Items that it was proposed for."""
    retired: bool = False


class Pool:
    """Factors with their families, alternatives and needs. Filled in the order of the run, never reordered."""

    def __init__(self) -> None:
        self.factors: list[Factor] = []
        self.spare: dict[int, list[Edit]] = {}
        """Further wordings of a family, not tried yet."""
        self.alternatives: dict[int, set[int]] = {}
        self.needs: dict[int, int] = {}
        self._families: dict[int, set[int]] = {}
        self._by_key: dict[str, int] = {}
        self._meanings: list[Meaning] = []
        self._vocabulary = Vocabulary()

    def add(self, proposal: Proposal, round_: int) -> Factor:
        """Take a proposal in; the factor that it is or belongs to. A new one has `born == round_` and support 1."""
        key, meaning = _key(proposal.edit), Meaning.of(_said(proposal.edit))
        found = self._by_key.get(key)
        if found is None and proposal.variant_of is None:
            found = self._like(proposal, meaning)
            if found is not None:
                self.spare.setdefault(self.factors[found].family, []).append(proposal.edit)
        if found is not None:
            factor = self.factors[found]
            factor.support += 1
            factor.own.update(proposal.addressed)
            self._by_key.setdefault(key, found)
            return factor
        number = len(self.factors)
        family = number if proposal.variant_of is None else self.factors[proposal.variant_of].family
        factor = Factor(number, proposal.edit, round_, family, own=set(proposal.addressed))
        self.factors.append(factor)
        self._families.setdefault(family, set()).add(number)
        self._meanings.append(meaning)
        self._vocabulary.add(meaning)
        self._by_key[key] = number
        return factor

    def try_variant(self, family: int, round_: int) -> Factor | None:
        """Let the next untried wording of a family join as a factor of its own; None where there is none."""
        if not self.spare.get(family):
            return None
        edit, number = self.spare[family].pop(0), len(self.factors)
        factor = Factor(number, edit, round_, family, own=set(self.factors[family].own))
        self.factors.append(factor)
        self._families[family].add(number)
        self._meanings.append(Meaning.of(_said(edit)))
        self._by_key[_key(edit)] = number
        return factor

    def members(self, family: int) -> set[int]:
        """Numbers of a family's factors."""
        return self._families[family]

    def _like(self, proposal: Proposal, meaning: Meaning) -> int | None:
        """The factor that says the same: the one the optimizer named, else the most similar."""
        if proposal.same_as is not None and 0 <= proposal.same_as < len(self.factors):
            return proposal.same_as
        best, found = SAME, None
        for factor, other in zip(self.factors, self._meanings, strict=True):
            if _place(factor.edit) != _place(proposal.edit):
                continue
            alike = self._vocabulary.similarity(meaning, other)
            if alike > best:
                best, found = alike, factor.number
        return found

    def relate(self, alternatives: Iterable[tuple[int, int]], needs: Iterable[tuple[int, int]]) -> None:
        """Take over what `compose.relations` found in the text: pairs on one place, and (edit, edit it needs)."""
        for one, other in alternatives:
            self.alternatives.setdefault(one, set()).add(other)
            self.alternatives.setdefault(other, set()).add(one)
        self.needs.update(needs)

    def excluded_by(self, number: int) -> set[int]:
        """Factors that cannot be in together with this one."""
        return (self._families[self.factors[number].family] | self.alternatives.get(number, set())) - {number}

    def feasible(self, wanted: Sequence[int]) -> Subset:
        """The wanted factors, best first, without those that an earlier one excludes or whose need is not met."""
        chosen: set[int] = set()
        for number in wanted:
            if not self.excluded_by(number) & chosen:
                chosen.add(number)
        while True:
            kept = {n for n in chosen if self.needs.get(n, n) in chosen}
            if kept == chosen:
                return frozenset(kept)
            chosen = kept

    @property
    def open(self) -> list[Factor]:
        """Factors that still take part."""
        return [f for f in self.factors if not f.retired]


def _said(edit: Edit) -> str:
    """The words by which an edit is recognised; a deletion is known by what it deletes."""
    return (edit.content if edit.op != "delete" else edit.target) or ""


def _place(edit: Edit) -> tuple[str, str]:
    """Edits that add are compared with each other wherever they add; edits that change a text, on that text only."""
    return ("add", "") if edit.op in ("append", "insert_after") else (edit.op, edit.target or "")


def _key(edit: Edit) -> str:
    return skill_hash("\x00".join((edit.op, edit.target or "", " ".join((edit.content or "").split()))))
