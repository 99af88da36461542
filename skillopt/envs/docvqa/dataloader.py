"""DocVQA items: CSV or JSON rows `{questionId, question, answer | answers, image_path, docId, topic, …}`.

The gold answers are a list, or its Python or JSON literal. The path of the page stands in `image_path`, or behind
"document_path:" at the end of the question.
"""

from __future__ import annotations

import ast
import re

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, parse_json
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

_HINT = "a DocVQA item is {questionId, question, answer, image_path}; an id manifest is filled by: " + command("docvqa")
_SUFFIX = re.compile(r"document_path:\s{0,200}(\S[^\n]{0,2000})\Z", re.IGNORECASE)
_KEPT = ("docId", "ucsf_document_id", "ucsf_document_page_no", "source_split")


def read_row(row: Row) -> Item:
    """Check one row; the image is not looked at. Raises `DataError` naming file, place and field."""
    item_id = row.identifier("questionId") or row.identifier()
    if item_id is None:
        raise row.fault("field 'questionId' is missing", hint=_HINT)
    question = row.text("question", hint=_HINT).rstrip()
    image = row.data.get("image_path")
    if found := _SUFFIX.search(question):
        question, image = question[: found.start()].rstrip(), image or found[1]
    if not isinstance(image, str) or not image.strip():
        raise row.fault("field 'image_path' is missing", hint=_HINT)
    data: dict[str, JsonValue] = {"question": question, "answers": list(_golds(row)), "image_path": image}
    data |= {name: row.data[name] for name in _KEPT if row.data.get(name) not in (None, "")}
    topic = row.data.get("topic")
    return Item(item_id, data, topic.strip() if isinstance(topic, str) else "")


def _golds(row: Row) -> list[str]:
    raw = row.data.get("answers") if row.data.get("answers") is not None else row.data.get("answer")
    golds = as_array(_literal(raw)) if isinstance(raw, str) else as_array(raw)
    texts = [str(gold) for gold in golds if isinstance(gold, (str, int, float)) and not isinstance(gold, bool)]
    if not texts or len(texts) != len(golds):
        raise row.fault(f"field 'answer' must be a list of texts with at least one, got {raw!r}", hint=_HINT)
    return texts


def _literal(text: str) -> object:
    """A list written as JSON or as Python; a plain text is its only element."""
    bare = text.strip()
    if bare.startswith(("[", "(")):
        for read in (parse_json, ast.literal_eval):
            try:
                value = read(bare)
            except (ValueError, SyntaxError, RecursionError):
                continue
            if isinstance(value, (list, tuple)):
                return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return [text] if bare else []
