"""The forecast of a run as numbers, and how it shows itself: printed, or in a notebook.

Ranges are bounds with a guess between them. Money is None where a price is unknown: never smaller than it will be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from skillopt.config.derived import Sizes
from skillopt.forecast.batches import BatchOffer
from skillopt.forecast.range import Range, total
from skillopt.gate.power import points_of
from skillopt.records.vocabulary import Role, Stage


@dataclass(frozen=True)
class StagePlan:
    """One line of the plan, over the whole run. `label` is for people; `usd` is None when the price is unknown."""

    role: Role
    model: str
    stage: Stage
    label: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    usd: Range | None
    seconds: Range
    """Wall time at the configured width, stages one after the other."""
    observed: bool
    """True when the figures come from earlier calls of this run."""
    live_usd: Range | None = None
    batched_usd: Range | None = None
    """Money if every call is made by itself, and if sets go into batches; `usd` is the one that is in force."""
    waits: int = 0
    """Sets in batches that are waited for, one after the other."""


@dataclass(frozen=True)
class Plan:
    """The forecast of one run."""

    stages: tuple[StagePlan, ...]
    sizes: Sizes
    total_steps: int
    steps_per_epoch: int
    selection_gain: float
    """Smallest gain (0 to 1) that the gate's look proves with 80 % power, or under a rule that proves nothing, that a
    report of it would call better; 1.0 means none."""
    test_gain: float
    """Smallest gain that the report of the sealed test calls better with 80 % power."""
    fits_steps: Range | None
    """Steps that the budget pays for, None without a budget in calls, tokens or money."""
    warnings: tuple[str, ...]
    refusals: tuple[str, ...]
    """Reasons not to start at all."""
    gate_notes: tuple[str, ...] = ()
    """What the gate can prove and how often it errs."""
    batches: BatchOffer | None = None
    """Both prices, where batches make a difference that is known."""
    pools: tuple[str, ...] = ()
    """Roles that several endpoints serve, a sentence each."""
    seeds: int = 1
    """Runs side by side; calls, tokens, money and time are of all of them, steps of one."""

    @property
    def calls(self) -> Range:
        """Calls over all stages."""
        return total(s.calls for s in self.stages)

    @property
    def tokens(self) -> Range:
        """Prompt and completion tokens over all stages."""
        return total(s.prompt_tokens + s.completion_tokens for s in self.stages)

    @property
    def seconds(self) -> Range:
        """Wall time of all stages one after the other; overlap makes it less."""
        return total(s.seconds for s in self.stages)

    @property
    def usd(self) -> Range | None:
        """Money over all stages; None when any of it is unknown."""
        known = [s.usd for s in self.stages if s.usd is not None]
        return total(known) if len(known) == len(self.stages) else None

    def __str__(self) -> str:
        rows = [f"  {name:<{_WIDE}}{calls:>14}{tokens:>22}  {money}" for name, calls, tokens, money in self._rows()]
        return "\n".join([self._head(), *rows, *self._rest()])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, str]:
        del include, exclude
        rows = self._rows()
        table = ["| " + " | ".join(row) + " |" for row in (_COLUMNS, ("---",) * len(_COLUMNS), *rows)]
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        header = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        html = f"<table><tr>{header}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
        rest = self._rest()
        return {
            "text/plain": str(self),
            "text/markdown": "\n".join([self._head(), "", *table, "", *(f"* {line}" for line in rest)]),
            "text/html": f"<div><p>{escape(self._head())}</p>{html}"
            f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in rest)}</ul></div>",
        }

    def _head(self) -> str:
        sizes = self.sizes
        side = f"{self.seeds} runs side by side, " if self.seeds > 1 else ""
        steps = f"{self.total_steps} step{'' if self.total_steps == 1 else 's'}, {self.steps_per_epoch} an epoch"
        return f"{side}{steps}; items: {sizes.train} train, {sizes.selection} selection, {sizes.test} test"

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Each stage, and all of them."""
        rows = [(f"{s.role}: {s.label}", s.calls, s.prompt_tokens + s.completion_tokens, s.usd) for s in self.stages]
        rows.append(("in all", self.calls, self.tokens, self.usd))
        return [
            (name, _bounds(calls, _whole), _bounds(tokens, _whole), _money(usd)) for name, calls, tokens, usd in rows
        ]

    def _rest(self) -> list[str]:
        sizes = self.sizes
        return [
            f"the sealed test ({sizes.test} items) shows {_gain(self.test_gain)}",
            f"the gate sees {_gain(self.selection_gain)} on {sizes.selection} selection items",
            *self.pools,
            *self.gate_notes,
            *(f"warning: {text}" for text in self.warnings),
            *(f"refused: {text}" for text in self.refusals),
        ]


_COLUMNS = ("stage", "calls", "tokens", "money")
_WIDE = 44


def _gain(gain: float) -> str:
    return "no gain at all" if gain >= 1 else f"gains of {points_of(gain)} points or more (80 % power)"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _money(usd: Range | None) -> str:
    return "unknown" if usd is None else _bounds(usd, lambda value: f"${value:,.4f}")


def _bounds(span: Range, words: Callable[[float], str]) -> str:
    low, high = words(span.low), words(span.high)
    return low if low == high else f"{low} to {high}"
