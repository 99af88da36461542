"""Acceptance rules as whole runs in the gates' world: what each accepts, what it asks, where it ends.

`strict` is the published rule, `proof` and `paired` are ours and run the product's own gate classes; the others are
rules that peers publish. Every run takes the same number of steps with one proposed edit each. Calls are answers of the
target that the rule asks for; the training rollouts of a step, which all rules need alike, are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.gate_world import State, World
from skillopt.config.derived import LEAST_TRIAL, PROOF_TRIAL_SHARE, TRIAL_SHARE
from skillopt.gate.alpha import AlphaLedger, level_of
from skillopt.gate.futility import Luck, TrialGate
from skillopt.gate.paired import PairedGate, Terms
from skillopt.gate.power import proof_is_likely
from skillopt.gate.pvalue import sign_p
from skillopt.gate.strict import StrictGate, Unit, failures_first
from skillopt.gate.verdict import Verdict

BATCH = 40
STEPS = 40


@dataclass
class Result:
    """One run. Accepted means: part of the skill that ships."""

    gain: float = 0.0
    calls: int = 0
    accepts: int = 0
    false_accepts: int = 0
    """Accepted without any true gain over what was accepted before."""
    harmful: int = 0
    good_seen: int = 0

    def accept(self, before: State, after: State) -> None:
        """Count an acceptance by what it truly did."""
        self.accepts += 1
        self.false_accepts += after.accuracy <= before.accuracy + 1e-12
        self.harmful += after.accuracy < before.accuracy - 1e-12


def _counts(incumbent: int, candidate: int, mask: int) -> tuple[int, int]:
    return (candidate & ~incumbent & mask).bit_count(), (incumbent & ~candidate & mask).bit_count()


def by_mean(keeps: Callable[[int, int, int], bool]) -> Callable[[World, int], Result]:
    """A rule that asks all n selection items for every candidate and decides on wins, losses and n. What it measured
    of an accepted candidate stays the bar."""

    def run(world: World, n: int) -> Result:
        result, state, mask = Result(calls=n), world.start, (1 << n) - 1
        bar = world.answers(state)
        for _ in range(STEPS):
            candidate = world.propose(state)
            result.good_seen += candidate.accuracy > state.accuracy
            drawn = world.answers(candidate)
            result.calls += n
            if keeps(*_counts(bar, drawn, mask), n):
                result.accept(state, candidate)
                state, bar = candidate, drawn
        result.gain = state.accuracy - world.start.accuracy
        return result

    return run


def strictly_higher(wins: int, losses: int, n: int) -> bool:
    """The published rule."""
    del n
    return wins > losses


def one_standard_error(wins: int, losses: int, n: int) -> bool:
    """Keep if the gain exceeds its standard error; no correction for the number of looks."""
    gain = (wins - losses) / n
    return gain > math.sqrt(max((wins + losses) / n - gain**2, 1e-12) / n)


def five_percent_each(wins: int, losses: int, n: int) -> bool:
    """An exact test at 5 % for every decision, none for the run."""
    del n
    return sign_p(wins, losses) <= 0.05


def minibatch_then_mean(world: World, n: int) -> Result:
    """A pool search's acceptance: better on a minibatch of 3 training items, then scored on the whole validation split;
    the highest mean is shipped."""
    result, state, mask = Result(calls=n), world.start, (1 << n) - 1
    bar, train = world.answers(state).__and__(mask).bit_count(), list(range(n, world.items))
    for _ in range(STEPS):
        candidate = world.propose(state)
        result.good_seen += candidate.accuracy > state.accuracy
        few = sum(1 << i for i in world.batch(train, 3))
        before, after = world.answers(state), world.answers(candidate)
        result.calls += 6
        if (after & few).bit_count() <= (before & few).bit_count():
            continue
        score = (world.answers(candidate) & mask).bit_count()
        result.calls += n
        if score > bar:
            result.accept(state, candidate)
            state, bar = candidate, score
    result.gain = state.accuracy - world.start.accuracy
    return result


class PairedRun:
    """The paired rule with the product's classes: trials on training items, looks on the selection split."""

    def __init__(self, world: World, n: int, *, alpha: float = 0.05, share: float = TRIAL_SHARE, futility: float = 0.1):
        self.world, self.n = world, n
        self.futility = futility
        self.most = max(LEAST_TRIAL, math.ceil(share * n))
        self.ledger = AlphaLedger.opened(alpha)
        self.result = Result(calls=n)
        self.proven = self.draft = world.start
        self.bar = world.answers(world.start)
        self.known: dict[int, bool] = {}
        self.draft_gains: list[tuple[float, float]] = []

    def run(self) -> Result:
        """All steps and the last look."""
        order: list[int] = []
        train = list(range(self.n, self.world.items))
        for _ in range(STEPS):
            if not order:
                order = self.world.batch(train, len(train))
            batch, order = order[:BATCH], order[BATCH:]
            self._step(batch)
        if self.draft is not self.proven:
            self._look(last=True)
        self.result.gain = self.proven.accuracy - self.world.start.accuracy
        return self.result

    def _step(self, batch: list[int]) -> None:
        rolled = self.world.answers(self.draft)
        for item in batch:
            self.known.setdefault(item, bool(rolled >> item & 1))
        candidate = self.world.propose(self.draft)
        self.result.good_seen += candidate.accuracy > self.draft.accuracy
        if self._trial(candidate, set(batch)):
            self.draft = candidate
            if proof_is_likely(self.draft_gains, self.n, alpha=self.ledger.price(last=False)):
                self._look(last=False)

    def _trial(self, candidate: State, batch: set[int]) -> bool:
        unseen = [i for i in self.known if i not in batch]
        items = [*self.world.batch(unseen, len(unseen)), *(i for i in self.known if i in batch)][: self.most]
        order = failures_first([Unit(i, str(i), float(self.known[i])) for i in items], {})
        drawn = self.world.answers(candidate)
        gate = StrictGate(order, early=True, coverage_floor=0.95, best_score=None)
        verdict = self._drive(gate, order, drawn)
        if not verdict.accepted:
            return False
        wins, losses = len(verdict.evidence.wins), len(verdict.evidence.losses)
        self.draft_gains.append(((wins - losses) / len(items), losses / len(items)))
        self.known = {i: bool(drawn >> i & 1) for i in items}
        return True

    def _look(self, *, last: bool) -> None:
        alpha = self.ledger.price(last=last)
        order = failures_first([Unit(i, str(i), float(self.bar >> i & 1)) for i in range(self.n)], {})
        gate = PairedGate(order, Terms(alpha, futility=self.futility), early=True)
        verdict = self._drive(gate, order, self.world.answers(self.draft))
        self.ledger = self.ledger.after(alpha, accepted=verdict.accepted)
        if verdict.accepted:
            self.result.accept(self.proven, self.draft)
            self.proven, self.bar = self.draft, self.world.answers(self.draft)
            self.result.calls += self.n
            self.draft_gains.clear()
        elif verdict.action == "reject":
            self.draft = self.proven
            self.known.clear()
            self.draft_gains.clear()

    def _drive(self, gate: StrictGate | PairedGate, order: list[Unit], drawn: int) -> Verdict:
        while not gate.settled:
            gate.observe(float(drawn >> order[gate.seen].index & 1))
        self.result.calls += gate.seen
        return gate.verdict()


class ProofRun:
    """The rule `proof` with the product's classes: trials that stop at luck, reviews, one look at each ending.

    `endings` > 1 is a run that is extended: it ends after every so many steps, each time at its share of the level, on
    the same selection items. What is proven is shipped; the climb does not know. Pruning, which asks training items
    only, is left out.
    """

    def __init__(
        self,
        world: World,
        n: int,
        *,
        alpha: float = 0.05,
        share: float = PROOF_TRIAL_SHARE,
        endings: int = 1,
        review_every: int = 20,
    ) -> None:
        self.world, self.n, self.alpha, self.endings = world, n, alpha, endings
        self.review_every = review_every
        self.most = max(LEAST_TRIAL, math.ceil(share * n))
        self.result = Result(calls=n)
        self.shipped = self.draft = world.start
        self.bar = world.answers(world.start)
        self.known: dict[int, bool] = {}
        self.luck = Luck()

    def run(self) -> Result:
        """All steps, a review whenever the training items are through, and the looks."""
        order: list[int] = []
        train, last = list(range(self.n, self.world.items)), 0
        for step in range(1, STEPS * self.endings + 1):
            if not order:
                if step - last >= self.review_every:
                    self._review(train)
                    last = step
                order = self.world.batch(train, len(train))
            batch, order = order[:BATCH], order[BATCH:]
            self._step(batch)
            if step % STEPS == 0 and self.draft is not self.world.start:
                self._look(level_of(self.alpha, step // STEPS))
        self.result.gain = self.shipped.accuracy - self.world.start.accuracy
        return self.result

    def _step(self, batch: list[int]) -> None:
        rolled = self.world.answers(self.draft)
        for item in batch:
            self.known[item] = bool(rolled >> item & 1)
        candidate = self.world.propose(self.draft)
        self.result.good_seen += candidate.accuracy > self.draft.accuracy
        seen = set(batch)
        unseen = [i for i in self.known if i not in seen]
        items = [*self.world.batch(unseen, len(unseen)), *batch][: self.most]
        order = failures_first([Unit(i, str(i), float(self.known[i])) for i in items], {})
        drawn = self.world.answers(candidate)
        gate = TrialGate(StrictGate(order, early=True, coverage_floor=0.95, best_score=None), self.luck)
        verdict = self._drive(gate, order, drawn)
        if verdict.accepted:
            asked = [unit.index for unit in order[: gate.seen]]
            self.draft, self.known = candidate, {i: bool(drawn >> i & 1) for i in asked}
        else:
            self.luck = self.luck.plus(len(verdict.evidence.wins), gate.failing_asked)

    def _review(self, train: list[int]) -> None:
        if self.draft is self.world.start:
            return
        items = self.world.batch(train, self.most)
        ours, theirs = self.world.answers(self.draft), self.world.answers(self.world.start)
        wins, losses = _counts(theirs, ours, sum(1 << i for i in items))
        self.result.calls += 2 * len(items)
        if losses - wins > math.sqrt(losses + wins):
            self.draft = self.world.start
            self.known.clear()

    def _look(self, alpha: float) -> None:
        order = failures_first([Unit(i, str(i), float(self.bar >> i & 1)) for i in range(self.n)], {})
        gate = PairedGate(order, Terms(alpha, futility=0.0), early=True)
        if self._drive(gate, order, self.world.answers(self.draft)).accepted:
            self.result.accept(self.world.start, self.draft)
            self.result.calls += self.n - gate.seen
            self.shipped = self.draft

    def _drive(self, gate: TrialGate | PairedGate, order: list[Unit], drawn: int) -> Verdict:
        while not gate.settled:
            gate.observe(float(drawn >> order[gate.seen].index & 1))
        self.result.calls += gate.seen
        return gate.verdict()


RULES: dict[str, Callable[[World, int], Result]] = {
    "strict": by_mean(strictly_higher),
    "paired": lambda world, n: PairedRun(world, n).run(),
    "proof": lambda world, n: ProofRun(world, n).run(),
    "proof, trials of 1.0 n": lambda world, n: ProofRun(world, n, share=1.0).run(),
    "proof, ended 8 times": lambda world, n: ProofRun(world, n, endings=8).run(),
    "one standard error": by_mean(one_standard_error),
    "5 % each": by_mean(five_percent_each),
    "minibatch, then mean": minibatch_then_mean,
}
