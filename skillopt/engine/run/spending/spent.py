"""What a run has spent, over all its processes: what the budget goes on from after a stop or a kill.

The journal's ledger holds answers with known usage. Spent besides were calls whose provider reports no usage (settled
at their reservation), runs of an agent that failed, and whatever a killed process had begun: the budget's own figure,
remembered at each change, has all of it. The larger of the two counts; a run of an older version has the ledger only.
"""

from __future__ import annotations

from collections.abc import Callable

from skillopt.core.json_types import as_number, as_object
from skillopt.engine.run.spending.budget import Spend
from skillopt.store.journal import Journal

_NAME = "spent"


def spent_before(journal: Journal) -> tuple[Spend, bool]:
    """What earlier processes spent, and whether a price or a usage of it is unknown."""
    recorded, unknown = Spend(), False
    for row in journal.ledger():
        unknown = unknown or bool(row.unknown_usd)
        recorded = recorded.plus(Spend(row.calls, row.prompt_tokens + row.completion_tokens, row.usd))
    told = as_object(journal.get_meta(_NAME))
    spent = Spend(
        max(recorded.calls, as_number(told.get("calls")) or 0),
        max(recorded.tokens, as_number(told.get("tokens")) or 0),
        max(recorded.usd, as_number(told.get("usd")) or 0),
    )
    return spent, unknown or told.get("unknown") is True


def remember_in(journal: Journal) -> Callable[[Spend, bool], None]:
    """What a budget calls whenever its figure changes."""

    def remember(spent: Spend, unknown: bool) -> None:
        journal.set_meta(_NAME, {"calls": spent.calls, "tokens": spent.tokens, "usd": spent.usd, "unknown": unknown})

    return remember
