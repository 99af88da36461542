"""Items of this environment: `{query, should_trigger}`, as in an `eval_queries.json`.

A row that says `"reviewed": false` (a proposal that nobody has looked at) is left out. Without an id the query is its
name: its digest.
"""

from __future__ import annotations

from skillopt.core.hashing import text_digest
from skillopt.core.item import Item
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source

HINT = 'a row is {"query": what a person asks, "should_trigger": true or false}'


def to_item(row: Row) -> Item:
    """One checked item. Raises `DataError` naming file and place."""
    query = row.text("query", hint=HINT)
    should = row.data.get("should_trigger")
    if not isinstance(should, bool):
        raise row.fault(f"field 'should_trigger' must be true or false, got {should!r}", hint=HINT)
    name = row.identifier() or text_digest(query)[:12]
    return Item(name, {"query": query, "should_trigger": should}, "should" if should else "should not")


SOURCE = Source(
    to_item=to_item,
    text=lambda item: str(item.data["query"]),
    keep=lambda row: row.data.get("reviewed") is not False,
)
