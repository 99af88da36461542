"""SealQA items: rows `{question, answer, topic, urls, search_results, freshness, question_types, canary}`.

The id is `question_id`, else `id`, else `<canary or sealqa>:NNNN` with the number of the row, counted from 0001 over
all files of a load. Lists may be lists, or their Python or JSON literals.
"""

from __future__ import annotations

import ast
import json
from typing import cast

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, parse_json
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

_HINT = "a SealQA item is {question, answer, topic, urls, search_results}; get them: " + command("sealqa")


class Reader:
    """Reads the rows of one load, in order."""

    def __init__(self) -> None:
        self._count = 0

    def read(self, row: Row) -> Item:
        """Check one row. Raises `DataError` naming file, place and field."""
        self._count += 1
        question, answer = row.text("question", hint=_HINT), row.data.get("answer")
        if answer is None or not str(answer).strip():
            raise row.fault("field 'answer' is missing", hint=_HINT)
        item_id = row.identifier("question_id") if row.data.get("question_id") else None
        item_id = item_id or (row.identifier() if row.data.get("id") not in (None, "") else None)
        item_id = item_id or f"{row.data.get('canary') or 'sealqa'}:{self._count:04d}"
        data: dict[str, JsonValue] = {"question": question, "answer": str(answer).strip()}
        data["urls"] = [url for url in listed(row.data.get("urls")) if url.startswith(("http://", "https://"))]
        data["question_types"] = list(listed(row.data.get("question_types")))
        data["freshness"] = str(row.data.get("freshness") or "")
        data["search_results"] = as_passage(row.data.get("search_results"))
        return Item(item_id, data, str(row.data.get("topic") or ""))


def listed(raw: object) -> list[str]:
    """A list of texts from a list, its literal, or lines.

    >>> listed("['a', 'b']"), listed("a"), listed(None)
    (['a', 'b'], ['a'], [])
    """
    if isinstance(raw, str):
        text = raw.strip()
        for read in (parse_json, ast.literal_eval) if text.startswith("[") else ():
            try:
                return [str(value) for value in cast("list[object]", read(text))]
            except (ValueError, SyntaxError, RecursionError):
                continue
        return [part for line in text.splitlines() if (part := line.strip(" ,;"))]
    return [str(value) for value in as_array(raw)]


def as_passage(raw: object) -> str:
    """Search results as text: as they are, or one JSON object a paragraph."""
    if raw is None or isinstance(raw, str):
        return (raw or "").strip()
    return "\n\n".join(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in as_array(raw)
    )
