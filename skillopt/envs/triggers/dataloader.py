"""Items of this environment: `{query, should_trigger}`, as in an `eval_queries.json`.

A row that says `"reviewed": false` (a proposal that nobody has looked at) is left out, and so is the copy of another
one, with a count. A query that should load the skill and should not is refused. Without an id its digest names
the query.
"""

from __future__ import annotations

from skillopt.core.hashing import text_digest
from skillopt.core.item import Item
from skillopt.core.shorten import shorten
from skillopt.envs.data.loading import ItemFile, Row
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


def without_copies(found: ItemFile) -> ItemFile:
    """Each query once. Raises `DataError` for one that asks for both."""
    first: dict[str, Row] = {}
    for row in filter(_is_reviewed, found.rows):
        item = to_item(row)
        other = first.setdefault(str(item.data["query"]).strip(), row)
        if other.data["should_trigger"] != row.data["should_trigger"]:
            raise row.fault(
                f"the query {shorten(str(item.data['query']), 80)!r} should load the skill and should not: see "
                f"{other.where}",
                hint="keep one of the two rows",
            )
    dropped = sum(map(_is_reviewed, found.rows)) - len(first)
    notes = (f"{dropped} cop{'ies' if dropped > 1 else 'y'} of other queries left out",) if dropped else ()
    return ItemFile(list(first.values()), (*found.notes, *notes))


def _is_reviewed(row: Row) -> bool:
    return row.data.get("reviewed") is not False


SOURCE = Source(
    to_item=to_item,
    text=lambda item: str(item.data["query"]),
    keep=_is_reviewed,
    prepare=without_copies,
)
