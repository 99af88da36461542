"""BabyVision items: rows of `meta_data.jsonl` `{taskId, type, subtype, question, image, ansType, options, choiceAns,
blankAns, coT}`. A right option is stated as an index from 0 (else from 1), a label, or its text; the gold answer of a
choice is its label."""

from __future__ import annotations

from string import ascii_uppercase

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

_HINT = "a BabyVision item is {taskId, question, image, ansType, options, choiceAns | blankAns}; get them: " + command(
    "babyvision"
)
_CHOICE = {"choice", "mcq", "option", "options", "multiple_choice", "multi_choice", "single_choice"}
_BLANK = {"blank", "open", "fill_blank", "fill", "fill_in_blank", "free_form", "text"}


def read_row(row: Row) -> Item:
    """Check one row; its image is not looked at. Raises `DataError` naming file, place and field."""
    item_id = row.identifier("taskId") or row.identifier()
    if item_id is None:
        raise row.fault("field 'taskId' is missing", hint=_HINT)
    question = row.text("question", hint=_HINT)
    image = row.data.get("image_path") or row.data.get("image")
    if not isinstance(image, str) or not image.strip():
        raise row.fault("field 'image' is missing", hint=_HINT)
    options = [str(option) for option in as_array(row.data.get("options"))]
    answer = _choice(row, options) if _is_choice(row, options) else str(row.data.get("blankAns") or "").strip()
    if not answer:
        raise row.fault("field 'blankAns' is missing", hint=_HINT)
    data: dict[str, JsonValue] = {"question": question, "image_path": image, "answer": answer}
    data |= {"options": [f"{label}. {text}" for label, text in zip(ascii_uppercase, options, strict=False)]}
    data |= {name: row.data[name] for name in ("coT", "type") if row.data.get(name)}
    return Item(item_id, data, str(row.data.get("subtype") or row.data.get("type") or ""))


def _is_choice(row: Row, options: list[str]) -> bool:
    kind = str(row.data.get("ansType") or "").strip().lower().replace("-", "_").replace(" ", "_")
    if kind in _CHOICE:
        if not 2 <= len(options) <= len(ascii_uppercase):
            raise row.fault(f"a choice needs 2 to {len(ascii_uppercase)} options, got {len(options)}", hint=_HINT)
        return True
    if kind and kind not in _BLANK:
        raise row.fault(f"field 'ansType' must be choice or blank, got {row.data['ansType']!r}", hint=_HINT)
    return not kind and bool(options)


def _choice(row: Row, options: list[str]) -> str:
    """The label of the right option."""
    raw: object = row.data.get("choiceAns")
    text = str(raw).strip() if isinstance(raw, (str, int)) and not isinstance(raw, bool) else ""
    if text in options:
        return ascii_uppercase[options.index(text)]
    bare = text.strip("().").upper()
    if bare in set(ascii_uppercase[: len(options)]):
        return bare
    if text.isascii() and text.isdigit():
        number = int(text)
        place = number if number < len(options) else number - 1
        if place < len(options):
            return ascii_uppercase[place]
    raise row.fault(f"field 'choiceAns' names no option: {raw!r}", hint=_HINT)
