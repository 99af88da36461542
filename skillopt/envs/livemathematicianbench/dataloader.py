"""LiveMathematicianBench items, from raw rows `{no, month, theorem, sketch, theorem_type, mcq: {question, choices,
correct_choice}}` or from flat ones with the same fields beside each other.

A right option that is not among the choices is put in front of them. There may be as many options as there are letters.
"""

from __future__ import annotations

from string import ascii_uppercase

from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

_HINT = (
    "a LiveMathematicianBench item is {id, question, choices, correct_choice, theorem, sketch, theorem_type}; an id "
    "manifest is filled by: " + command("livemathematicianbench")
)
_KEPT = ("theorem", "sketch", "paper_link", "month", "no")


def read_row(row: Row) -> Item:
    """Check one row. Raises `DataError` naming file, place and field."""
    flat = Row({**row.data, **as_object(row.data.get("mcq"))}, row.where)
    question = flat.text("question", hint=_HINT)
    choices = _choices(flat)
    right = _right(flat, choices)
    if right not in choices:
        choices = [right, *choices]
    if not 2 <= len(choices) <= len(ascii_uppercase) or len(set(choices)) != len(choices):
        raise flat.fault(
            f"needs 2 to {len(ascii_uppercase)} different options, got {len(choices)}", hint="correct 'choices'"
        )
    kinds = _kinds(flat.data.get("theorem_type"))
    data: dict[str, JsonValue] = {"question": question, "choices": list(choices), "correct": right}
    data |= {"theorem_type": list(kinds)}
    data |= {name: flat.data[name] for name in _KEPT if flat.data.get(name) not in (None, "")}
    return Item(identifier(flat), data, kinds[0] if kinds else "")


def identifier(row: Row) -> str:
    """`<month>:<no>`, or the id that the row states."""
    if (found := row.identifier()) is not None:
        return found
    month, no = row.identifier("month"), row.identifier("no")
    if month is None or no is None:
        raise row.fault("neither 'id' nor 'month' and 'no' are there", hint=_HINT)
    return f"{month}:{no}"


def _choices(row: Row) -> list[str]:
    raw: object = row.data.get("choices")
    if isinstance(raw, dict):
        return [str(text) for text in as_object(raw).values()]  # pyright: ignore[reportUnknownArgumentType]
    return [_text(choice) for choice in as_array(raw)]


def _text(choice: JsonValue) -> str:
    return str(as_object(choice).get("text", "")) if isinstance(choice, dict) else str(choice)


def _right(row: Row, choices: list[str]) -> str:
    """The text of the right option: stated as `{label, text}`, as text, or as a label."""
    raw = row.data.get("correct_choice", row.data.get("correct"))
    stated: JsonObject = as_object(raw)
    text = str(stated.get("text") or "") if stated else str(raw or "")
    label = str(stated.get("label") or "") if stated else text
    if not text or (text not in choices and not stated):
        place = ascii_uppercase.find(label.strip().upper()) if len(label.strip()) == 1 else -1
        text = choices[place] if 0 <= place < len(choices) else ""
    if not text.strip():
        raise row.fault(f"field 'correct_choice' names no option: {raw!r}", hint=_HINT)
    return text


def _kinds(raw: object) -> list[str]:
    if isinstance(raw, str):
        return [raw] if raw.strip() else []
    return [str(kind) for kind in as_array(raw) if str(kind).strip()]
