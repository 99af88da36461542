"""Several skills (or runs) on the same items: each with its score, every two with their difference.

The intervals of all differences hold together (Bonferroni: 95 % for all at once), and so do the p-values; what was not
measured on both sides of a pair is left out of that pair and counted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from skillopt.core.errors import DataError
from skillopt.core.json_types import JsonValue
from skillopt.gate.interval import mean_interval, score_interval
from skillopt.gate.pvalue import two_sided_p
from skillopt.records.codec import encode_record

ALPHA = 0.05
COVERAGE_FLOOR = 0.95
"""Where a smaller share of the common items was measured on both sides, nothing is said of a pair: what is missing may
be what makes the difference."""

Measured = Mapping[str, "float | None"]
"""Mean score by item id; None where it could not be measured."""


@dataclass(frozen=True)
class Score:
    """One skill: mean over measured items with its own 95 % interval."""

    name: str
    mean: float | None
    n: int
    total: int
    interval: tuple[float, float] | None

    @property
    def words(self) -> str:
        """Mean, what it rests on, and its interval."""
        return _score_words(self)


@dataclass(frozen=True)
class Pair:
    """`b` minus `a` on the `n` items that both have measured, of the `total` that both were asked. `interval` and `p`
    hold for all pairs at once."""

    a: str
    b: str
    n: int
    total: int
    wins: int
    losses: int
    delta: float
    interval: tuple[float, float] | None
    p: float

    @property
    def words(self) -> str:
        """What may be said of the two."""
        if self.interval is None:
            return f"{self.n} item in common: nothing can be said"
        if self.n < COVERAGE_FLOOR * self.total:
            return f"not measured: {self.n} of {self.total} items have a score on both sides"
        if self.interval[0] > 0:
            return f"{self.b} is better"
        return f"{self.a} is better" if self.interval[1] < 0 else "not distinguishable"


@dataclass(frozen=True)
class PairedTable:
    """Scores and all pairs, in the order given."""

    scores: tuple[Score, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, measured: Mapping[str, Measured], couples: Sequence[tuple[str, str]] | None = None) -> PairedTable:
        """Compare everything with everything, or the `couples` named. Raises `DataError` when two have no item in
        common.

        >>> table = PairedTable.of({"old": {"q1": 0.0, "q2": 1.0}, "new": {"q1": 1.0, "q2": 1.0}})
        >>> table.pairs[0].delta, table.pairs[0].wins, table.pairs[0].words
        (0.5, 1, 'not distinguishable')
        """
        scores = tuple(_score(name, values) for name, values in measured.items())
        chosen = list(itertools.combinations(measured, 2)) if couples is None else couples
        pairs = tuple(_pair(a, b, measured, len(chosen)) for a, b in chosen)
        return cls(scores, pairs)

    def to_dict(self) -> dict[str, JsonValue]:
        """As JSON values."""
        return {"scores": [encode_record(s) for s in self.scores], "pairs": [encode_record(p) for p in self.pairs]}

    def __str__(self) -> str:
        wide = max(len(score.name) for score in self.scores)
        lines = [f"{score.name:<{wide}}  {_score_words(score)}" for score in self.scores]
        return "\n".join([*lines, *self.pair_lines])

    @property
    def pair_lines(self) -> list[str]:
        """Every pair as a line."""
        return [f"{pair.a} → {pair.b}: {_pair_words(pair)}" for pair in self.pairs]

    def markdown(self, notices: Sequence[str] = ()) -> str:
        """Two tables, below what has to be known beside them."""
        above = "".join(f"**Warning:** {_cell(text)}\n\n" for text in notices)
        return above + "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" if row else "" for row in self._rows())

    def html(self, notices: Sequence[str] = ()) -> str:
        """The same without scripts or anything from elsewhere."""
        rows = ("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row if c != "---") + "</tr>" for row in self._rows())
        above = "".join(f"<p><strong>Warning:</strong> {escape(text)}</p>" for text in notices)
        return f"{above}<table>{''.join(rows)}</table>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield ("skill", "score")
        yield ("---", "---")
        for score in self.scores:
            yield (score.name, _score_words(score))
        if self.pairs:
            yield ()
            yield ("pair", "difference")
            yield ("---", "---")
        for pair in self.pairs:
            yield (f"{pair.a} → {pair.b}", _pair_words(pair))


def _score(name: str, values: Measured) -> Score:
    known = [v for v in values.values() if v is not None]
    mean = math.fsum(known) / len(known) if known else None
    return Score(name, mean, len(known), len(values), score_interval(known) if len(known) > 1 else None)


def _pair(a: str, b: str, measured: Mapping[str, Measured], tests: int) -> Pair:
    before, after = measured[a], measured[b]
    if not before.keys() & after.keys():
        raise DataError(f"{a} and {b} have no item in common", hint="compare what was measured on the same items")
    both = [(before[name], after[name]) for name in before if name in after]
    found = [new - old for old, new in both if old is not None and new is not None]
    wins, losses = sum(d > 0 for d in found), sum(d < 0 for d in found)
    delta = math.fsum(found) / len(found) if found else 0.0
    interval = mean_interval(found, alpha=ALPHA / tests) if len(found) > 1 else None
    return Pair(a, b, len(found), len(both), wins, losses, delta, interval, min(1.0, tests * two_sided_p(found)))


def _score_words(score: Score) -> str:
    if score.mean is None:
        return f"not measured (0 of {score.total})"
    interval = f", 95 % interval [{score.interval[0]:.3f}, {score.interval[1]:.3f}]" if score.interval else ""
    return f"{score.mean:.3f} on {score.n} of {score.total}{interval}"


def _pair_words(pair: Pair) -> str:
    interval = f" [{pair.interval[0]:+.3f}, {pair.interval[1]:+.3f}]" if pair.interval else ""
    counts = f"{pair.wins} won, {pair.losses} lost on {pair.n}" + (f" of {pair.total}" if pair.n < pair.total else "")
    return f"{pair.delta:+.3f}{interval}, {counts}, p {pair.p:.3g}: {pair.words}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
