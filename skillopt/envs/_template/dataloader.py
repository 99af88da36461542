"""Items of this environment: `{id, word}`. Check here everything that `rollout.py` relies on."""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source


def to_item(row: Row) -> Item:
    """One checked item. `row.fault(...)` names the file and the place of a bad one."""
    item_id = row.identifier()
    if item_id is None:
        raise row.fault("field 'id' is missing", hint="an item is {id, word}")
    return Item(item_id, {"word": row.text("word", hint="an item is {id, word}")})


SOURCE = Source(to_item=to_item, text=lambda item: str(item.data["word"]))
