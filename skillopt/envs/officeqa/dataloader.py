"""OfficeQA items: `{uid, question, ground_truth, category, source_files, source_docs}` from CSV or JSON.

Lists may be JSON, or text with commas, semicolons or line breaks between. `source_docs` are addresses with `?page=N`,
one for each source file.
"""

from __future__ import annotations

import contextlib
import re
from urllib.parse import parse_qs, urlsplit

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, parse_json
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source
from skillopt.envs.datasets.dataset import command

MATERIALISE = command("officeqa")
_HINT = f"an OfficeQA item is {{uid, question, ground_truth, category, source_files, source_docs}}; {MATERIALISE}"


def to_item(row: Row) -> Item:
    """Check one row. Raises `DataError` naming file, place and field."""
    item_id = row.identifier("uid") or row.identifier()
    if item_id is None:
        raise row.fault("field 'uid' is missing", hint=_HINT)
    gold = row.data.get("ground_truth")
    if isinstance(gold, bool) or not isinstance(gold, (str, int, float)) or not str(gold).strip():
        raise row.fault(f"field 'ground_truth' must be a text or a number, got {gold!r}", hint=_HINT)
    data: dict[str, JsonValue] = {
        "id": item_id,
        "uid": item_id,
        "question": row.text("question", hint=_HINT),
        "ground_truth": str(gold),
        "category": str(row.data.get("category") or ""),
        "source_files": list(several(row.data.get("source_files"))),
        "source_docs": list(several(row.data.get("source_docs"))),
    }
    return Item(item_id, data, str(data["category"]))


def several(value: object) -> list[str]:
    """The texts of a list that may be written in several ways."""
    if isinstance(value, str) and value.strip().startswith("["):
        with contextlib.suppress(ValueError):  # else it is a text that begins so
            value = parse_json(value)
    if isinstance(value, str):
        return [part.strip() for part in re.split(r"[\n;,]", value) if part.strip()]
    return [str(part).strip() for part in as_array(value) if str(part).strip()]


def files_of(item: Item) -> list[str]:
    """Base names of the files that an item's answer is taken from; empty where they are not known."""
    return [name.rsplit("/", 1)[-1] for name in several(item.data.get("source_files"))]


def pages_of(item: Item) -> list[tuple[str, int]]:
    """File stem and page of each place that an item's answer is taken from."""
    found: list[tuple[str, int]] = []
    for name, address in zip(files_of(item), several(item.data.get("source_docs")), strict=False):
        for page in parse_qs(urlsplit(address).query).get("page", []):
            if page.isdigit():
                found.append((name.rsplit(".", 1)[0], int(page)))
    return found


SOURCE = Source(to_item=to_item, text=lambda item: str(item.data["question"]), materialise=MATERIALISE)
