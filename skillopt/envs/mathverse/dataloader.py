"""MathVerse items: rows of `testmini.json` with `{sample_index, problem_index, problem_version, question, image,
answer, question_type, metadata}`; a question may embed its choices ("Choices: A:… B:…")."""

from __future__ import annotations

import re

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, as_object
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

DOMINANT = "Text Dominant"
FULL = "text_dominant"
"""Field of an item with the wording of the same problem that says everything."""
_HINT = "a MathVerse item is {problem_index, question, image, answer, question_type}; get them: " + command("mathverse")
_CHOICES = re.compile(r"\bChoices:", re.IGNORECASE)
_CHOICE = re.compile(r"(?:^|\s)([A-Z])\s*[:.]\s*")


def read_row(row: Row, *, by_problem: bool) -> Item:
    """Check one row; its image is not looked at. `by_problem` takes `problem_index` as the id. Raises `DataError`."""
    names = ("problem_index", "sample_index") if by_problem else ("sample_index",)
    item_id = next((found for name in names if (found := row.identifier(name)) is not None), row.identifier())
    if item_id is None:
        raise row.fault("field 'problem_index' is missing", hint=_HINT)
    image, answer = row.data.get("image_path") or row.data.get("image") or "", row.data.get("answer")
    whole = str(row.data.get("question") or "")
    if not whole.strip() and not image:
        raise row.fault("neither a question nor an image is there", hint=_HINT)
    if answer is None or not str(answer).strip():
        raise row.fault("field 'answer' is missing", hint=_HINT)
    question, choices = split_choices(whole)
    if not choices:
        choices = [str(choice) for choice in as_array(row.data.get("choices"))]
    meta = as_object(row.data.get("metadata"))
    kind = str(row.data.get("question_type") or ("multi-choice" if choices else "free-form"))
    data: dict[str, JsonValue] = {
        "question": question, "choices": list(choices), "answer": str(answer).strip(), "question_type": kind,
        "problem_index": str(row.data.get("problem_index") or item_id),
        "problem_version": str(row.data.get("problem_version") or ""),
    }  # fmt: skip
    data |= {"image_path": str(image)} if image else {}
    data |= {FULL: str(row.data[FULL])} if row.data.get(FULL) else {}
    return Item(item_id, data, str(meta.get("subfield") or meta.get("subject") or row.data.get("subfield") or kind))


def split_choices(text: str) -> tuple[str, list[str]]:
    """The stem of a question, and its choices as `A: text`.

    >>> split_choices("How far?\\nChoices:\\nA:4 cm\\nB:5 cm")
    ('How far?', ['A: 4 cm', 'B: 5 cm'])
    """
    found = _CHOICES.search(text)
    if not found:
        return text.strip(), []
    parts = _CHOICE.split(text[found.end() :].lstrip())
    pairs = list(zip(parts[1::2], parts[2::2], strict=True))
    if [label for label, _ in pairs] != [chr(ord("A") + n) for n in range(len(pairs))] or not pairs:
        return text.strip(), []
    return text[: found.start()].strip(), [f"{label}: {choice.strip()}" for label, choice in pairs]
