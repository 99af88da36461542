"""Items of one's own file: every field is kept, the id is a field or a content hash, the gold value must be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.envs.data.fields import value_at
from skillopt.envs.data.loading import Row
from skillopt.envs.data.own import own_rows
from skillopt.envs.data.splits import Source


def source(
    *,
    id_field: str,
    answer_field: str,
    needs_answer: bool,
    task_type_field: str,
    check: Callable[[Item], None],
    text: Callable[[Item], str],
) -> Source:
    """The shared loader's view of the file. `needs_answer` is False where a function of one's own judges. `check`
    refuses an item that the scorer or the template cannot work with."""

    def to_item(row: Row) -> Item:
        if needs_answer and value_at(row.data, answer_field) is None:
            raise row.fault(
                f"field {answer_field!r} is missing", hint=f"set env.answer_field; fields: {', '.join(row.data)}"
            )
        task_type: Any = value_at(row.data, task_type_field) if task_type_field else ""
        if task_type is None:
            raise row.fault(f"field {task_type_field!r} is missing", hint="set env.task_type_field")
        content = dict(row.data)
        item = Item(row.identifier(id_field) or digest(content)[:16], content, str(task_type))
        check(item)
        return item

    return Source(to_item=to_item, text=text, prepare=own_rows)
