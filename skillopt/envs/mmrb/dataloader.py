"""MMRB items: rows of `*_human.json` `{source, subtask, index, question, answer, options, image_paths,
reasoning_steps}`. The id is `source:subtask:index`."""

from __future__ import annotations

import re
from string import ascii_uppercase

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_array, as_object
from skillopt.envs.data.loading import Row
from skillopt.envs.datasets.dataset import command

_HINT = "an MMRB item is {source, subtask, index, question, answer, options, image_paths}; get them: " + command("mmrb")
_NAMED = re.compile(r"\{image#(\d+)\}")


def read_row(row: Row) -> Item:
    """Check one row; its images are not looked at. Raises `DataError` naming file, place and field."""
    question, answer = row.text("question", hint=_HINT), row.data.get("answer")
    if answer is None or not str(answer).strip():
        raise row.fault("field 'answer' is missing", hint=_HINT)
    images = [str(path) for path in as_array(row.data.get("image_paths"))]
    if not images:
        raise row.fault("field 'image_paths' must be a list with at least one path", hint=_HINT)
    beyond = [number for number in map(int, _NAMED.findall(question)) if not 1 <= number <= len(images)]
    if beyond:
        raise row.fault(f"the question names {{image#{beyond[0]}}}, and there are {len(images)} images", hint=_HINT)
    options = [str(option) for option in as_array(row.data.get("options"))]
    if len(options) > len(ascii_uppercase):
        raise row.fault(f"has {len(options)} options, at most {len(ascii_uppercase)} have a letter", hint=_HINT)
    data: dict[str, JsonValue] = {"question": question, "answer": str(answer).strip(), "options": list(options)}
    data |= {"image_paths": list(images), "reasoning_steps": [_step(step) for step in _steps(row)]}
    return Item(identifier(row), data, str(row.data.get("subtask") or ""))


def identifier(row: Row) -> str:
    """`source:subtask:index`, or the id that the row states."""
    if (found := row.identifier()) is not None:
        return found
    parts = [row.data.get(name) for name in ("source", "subtask", "index")]
    if None in parts:
        raise row.fault("one of the fields 'source', 'subtask', 'index' is missing", hint=_HINT)
    return ":".join(str(part) for part in parts)


def _steps(row: Row) -> list[JsonValue]:
    """The steps, flat: some rows hold one list for each way to the answer."""
    return [step for entry in as_array(row.data.get("reasoning_steps")) for step in (as_array(entry) or [entry])]


def _step(step: JsonValue) -> str:
    fields = as_object(step)
    return " ".join(str(value) for value in fields.values()) if fields else str(step)
