"""SearchQA items: `{id, question, context, answers[]}`, checked at load.

An id manifest that was not joined with the data set has no questions: the first bad item is named with the command that
writes the split, and nothing is spent.
"""

from __future__ import annotations

from typing import Any, cast

from skillopt.core.item import Item
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source
from skillopt.envs.datasets.dataset import command

MATERIALISE = command("searchqa")
_HINT = f"a SearchQA item is {{id, question, context, answers}}; an id manifest is filled by: {MATERIALISE}"


def to_item(row: Row) -> Item:
    """Check one row. Raises `DataError` naming file, place and field."""
    item_id = row.identifier()
    if item_id is None:
        raise row.fault("field 'id' is missing", hint=_HINT)
    question = row.text("question", hint=_HINT)
    context = row.text("context", hint=_HINT, blank=True)
    answers: Any = row.data.get("answers")
    golds = cast("list[Any]", answers) if isinstance(answers, list) else []
    if not golds or not all(isinstance(gold, str) for gold in golds):
        raise row.fault(f"field 'answers' must be a list of texts with at least one, got {answers!r}", hint=_HINT)
    data: dict[str, Any] = {"question": question, "context": context, "answers": golds}
    task_type = row.data.get("task_type")
    return Item(item_id, data, task_type if isinstance(task_type, str) else "")


SOURCE = Source(to_item=to_item, text=lambda item: str(item.data["question"]), materialise=MATERIALISE)
