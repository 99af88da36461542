"""The search as a state machine: it says which rollouts to make and what to ask, and is told what came out.

Nothing here runs anything. Whoever drives it (the trainer, a simulation) makes the rollouts of `plan`, hands the scores
to `record` in the order of the plan, answers `asks` with `propose` (one round later, so that both run side by side) and
reads `final` at the end. The same answers give the same decisions, whatever the width of the run: every draw comes from
a stream named after its round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from skillopt.core.streams import named
from skillopt.optimizer.factorial.design import Rotation, Trial, balanced, best_subset, thompson
from skillopt.optimizer.factorial.interactions import demanded
from skillopt.optimizer.factorial.model import Belief, Effect, Evidence, posterior
from skillopt.optimizer.factorial.pool import Factor, Pool, Proposal, Subset
from skillopt.optimizer.factorial.prior import Prior
from skillopt.optimizer.factorial.select import beyond_training, columns_of, left_to_win


@dataclass(frozen=True)
class Settings:
    """How the search goes about it. One setting for every world."""

    rollouts: int = 4840
    """Training rollouts in all."""
    paced_over: int = 0
    """Rollouts over which optimizer calls are spread; 0 for all of them. A run that is extended keeps its pace."""
    round_size: int = 40
    group_size: int = 2
    """Items of a round that share one subset, hence one prompt."""
    calls: int = 40
    """Optimizer calls at most."""
    shown: int = 8
    """Failed attempts that one call sees."""
    first_calls: int = 3
    """Calls after the first round."""
    last_ask: float = 0.7
    """Share of the rollouts after which nothing is asked any more: what is proposed must still be tried."""
    balanced_rounds: int = 3
    """Rounds in which every edit is in half of the groups, before draws from the posterior decide."""
    width: float = 1.0
    price: float = 0.0
    keep: float = 0.008
    """Least effect, as share of the score, that is worth a line in the result."""
    retire: float = 0.02
    """Probability of a positive effect under which an edit is given up."""
    retire_after: int = 60
    pair_z: float = 3.5
    """Standard errors from which two edits get a term of their own; 0 for none."""
    pair_rounds: int = 5
    prior: Prior = field(default_factory=Prior)
    support_bonus: float = 0.0
    focus: float = 0.5
    """Share of a round that goes to items for which an edit in doubt was proposed: there it shows first."""
    item_effects: float = 0.15
    """By how much an edit's effect differs from item to item (standard deviation), for what is kept."""
    doubt: float = 0.0
    """What an edit does to items that were never seen, where nothing is known: taken for what is kept."""
    settled: float = 0.01
    """Gain that may be left to win when a search ends before its rollouts are spent; 0 spends them all."""
    fruitless: int = 10
    """Calls of the optimizer that must have brought nothing to keep before."""
    variants: int = 3
    """Wordings of an idea that works which are tried beside the first."""
    variant_mean: float = 0.03
    """Least effect of an idea whose other wordings are worth trying."""


@dataclass(frozen=True)
class Ask:
    """One call of the optimizer: failed attempts to show, and the subset that is believed best."""

    number: int
    failures: tuple[Trial, ...]
    believed: Subset


class Search:
    """State of one factorial search."""

    def __init__(self, items: Sequence[str], settings: Settings, seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.pool = Pool()
        self.evidence = Evidence(items)
        self.rotation = Rotation(items, named(seed, "factorial", "items"))
        self.round = 0
        self.made = 0
        self.asked = 0
        self.belief: Belief | None = None
        self.failures: list[Trial] = []
        self.shown: dict[str, int] = {}
        self._pairs: tuple[tuple[int, int], ...] = ()
        self._tried: dict[int, int] = {}
        self._items_of: dict[int, set[str]] = {}
        self._since = 0
        self._at = (0, 0, 0)
        self._pairs_of = 0
        self._effects: list[Effect] = []
        self._asked_at: list[int] = []

    @property
    def owners(self) -> list[set[str]]:
        """Items that each factor was proposed for, by factor number."""
        return [f.own for f in self.pool.factors]

    @property
    def done(self) -> bool:
        """True when the rollouts are spent."""
        return self.made >= self.settings.rollouts

    @property
    def settled(self) -> bool:
        """True when nothing is left to win: the last calls of the optimizer brought nothing that helps, and no edit is
        in doubt that could change much."""
        s = self.settings
        if not s.settled or self.asked < s.fruitless or not self.pool.factors or self._waiting():
            return False
        kept = self.final()
        if any(self._asked_at[n] > self.asked - s.fruitless for n in kept):
            return False
        believed = [(self._effects[f.number], f.number in kept) for f in self.pool.open]
        return left_to_win(believed, s.prior, worth=s.keep) < s.settled

    def _waiting(self) -> bool:
        """True while an edit has hardly been tried."""
        return any(self.tried(f.number) < self.settings.retire_after for f in self.pool.open)

    def plan(self) -> list[Trial]:
        """The rollouts of the next round."""
        s = self.settings
        self.round += 1
        size = min(s.round_size, s.rollouts - self.made)
        groups = -(-size // s.group_size)
        luck = named(self.seed, "factorial", "design", self.round)
        belief = self._believed()
        if belief is None or not self.pool.open:
            subsets = [frozenset[int]()] * groups
        elif self._since <= s.balanced_rounds:
            subsets = balanced(self.pool, groups, luck)
        else:
            subsets = thompson(self.pool, belief, groups, luck, price=s.price, width=s.width)
        self._since += bool(self.pool.open)
        items = self.rotation.take(size, self._worth(), round(s.focus * size))
        trials = [
            Trial(self.round, n, item, subsets[n // s.group_size], self.rotation.draw(item))
            for n, item in enumerate(items)
        ]
        self.made += size
        return trials

    def _worth(self) -> dict[str, float]:
        """What a rollout of an item could tell: the doubt about the edits that were proposed for it."""
        worth: dict[str, float] = {}
        for factor in self.pool.open if self.belief is not None else []:
            effect = self._effects[factor.number] if factor.number < len(self._effects) else None
            if effect is None:
                continue
            doubt = effect.sd * math.exp(-0.5 * ((effect.mean - self.settings.keep) / effect.sd) ** 2)
            for item in factor.own:
                worth[item] = worth.get(item, 0.0) + doubt
        return worth

    def record(
        self, trials: Sequence[Trial], scores: Sequence[float | None], *, failed: Sequence[bool] | None = None
    ) -> None:
        """Outcomes in the order of the plan; `failed` says which of them the optimizer may be shown (a score under one
        half where it is not given)."""
        lost = failed if failed is not None else [s is not None and s < 0.5 for s in scores]
        for trial, score, shown in zip(trials, scores, lost, strict=True):
            self.evidence.add(trial.item, trial.subset, score)
            if score is None:
                continue
            for n in trial.subset:
                self._tried[n] = self._tried.get(n, 0) + 1
                self._items_of.setdefault(n, set()).add(trial.item)
            if shown:
                self.failures.append(trial)

    def asks(self) -> list[Ask]:
        """Calls of the optimizer that are due now."""
        s = self.settings
        progress = self.made / ((s.paced_over or s.rollouts) * s.last_ask)
        due = min(s.calls, s.first_calls + int((s.calls - s.first_calls) * min(1.0, progress)))
        if progress > 1:
            due = self.asked
        out: list[Ask] = []
        believed = self.final()
        while self.asked < due and len(self.failures) >= min(4, s.shown):
            out.append(Ask(self.asked, self._choose(believed), believed))
            self.asked += 1
        if self.asked >= due:
            self.failures = self.failures[-200:]
        return out

    def _choose(self, believed: Subset) -> tuple[Trial, ...]:
        """Failures of subsets nearest to what is believed, items shown least first, later ones first."""

        def rank(trial: Trial) -> tuple[float, ...]:
            lacking = len(believed - trial.subset)
            return (self.shown.get(trial.item, 0), lacking, -trial.round, trial.slot)

        chosen: list[Trial] = []
        for trial in sorted(self.failures, key=rank):
            if trial.item not in {t.item for t in chosen}:
                chosen.append(trial)
            if len(chosen) == self.settings.shown:
                break
        for trial in chosen:
            self.shown[trial.item] = self.shown.get(trial.item, 0) + 1
            self.failures.remove(trial)
        return tuple(chosen)

    def propose(self, proposals: Sequence[Proposal]) -> list[Factor]:
        """What the optimizer proposed since the last round; the factors that are new, further wordings of what works
        among them."""
        before = len(self.pool.factors)
        for proposal in proposals:
            self.pool.add(proposal, self.round)
        self._try_variants()
        self._asked_at += [self.asked] * (len(self.pool.factors) - before)
        return self.pool.factors[before:]

    def _try_variants(self) -> None:
        """An idea that surely works is tried in its other wordings, one more a round."""
        s = self.settings
        for family in sorted(self.pool.spare):
            known = [self._effects[n] for n in self.pool.members(family) if n < len(self._effects)]
            works = any(e.mean > s.variant_mean and e.positive > 0.97 for e in known)
            if works and len(known) == len(self.pool.members(family)) <= s.variants:
                self.pool.try_variant(family, self.round)

    def effects(self) -> list[Effect | None]:
        """What is known of each factor, by number; None for one that was not tried yet."""
        self._believed()
        return [self._effects[f.number] if self.tried(f.number) else None for f in self.pool.factors]

    def gain(self, subset: Subset) -> float:
        """Expected gain of a subset over the initial skill, on any item."""
        belief = self._believed()
        return 0.0 if belief is None else belief.value(subset) - belief.value(frozenset())

    def tried(self, number: int) -> int:
        """Measured rollouts that had the factor."""
        return self._tried.get(number, 0)

    def _believed(self) -> Belief | None:
        """The posterior of all evidence, worked out once for each state; retires what is clearly useless."""
        s, count = self.settings, (len(self.evidence.scores), len(self.pool.factors), self.asked)
        if not self.pool.factors or count == self._at:
            return self.belief
        owners, means, families = self.owners, self._means(), [f.family for f in self.pool.factors]
        if s.pair_z > 0 and self.round - self._pairs_of >= s.pair_rounds:
            self._pairs_of = self.round
            main = posterior(self.evidence, owners, s.prior, means=means, families=families)
            among = [f.number for f in self.pool.open]
            self._pairs = demanded(self.evidence, owners, main, z=s.pair_z, among=among, noise=s.prior.noise)
        self.belief = posterior(self.evidence, owners, s.prior, pairs=self._pairs, means=means, families=families)
        self._effects = self.belief.effects()
        self._at = count
        for factor, effect in zip(self.pool.factors, self._effects, strict=True):
            factor.retired = self.tried(factor.number) >= s.retire_after and effect.positive < s.retire
        return self.belief

    def _means(self) -> list[float]:
        s = self.settings
        return [s.prior.mean + s.support_bonus * min(3, f.support - 1) for f in self.pool.factors]

    def final(self) -> Subset:
        """What is kept."""
        belief = self._believed()
        if belief is None:
            return frozenset()
        s = self.settings
        if not s.item_effects and not s.doubt:
            return best_subset(self.pool, belief, belief.mean, price=s.keep)
        general = [
            beyond_training(e, len(self._items_of.get(n, ())), s.prior, spread=s.item_effects, mean=s.doubt)
            for n, e in enumerate(self._effects)
        ]
        return best_subset(self.pool, belief, columns_of(belief.mean, general), price=s.keep)
