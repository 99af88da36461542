"""What a careful person notices about right answers before a rule compares them: sets of labels, rankings, programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.core.json_types import JsonValue, as_array

_TESTS = ("test", "tests", "test_list", "test_code", "test_cases", "unit_tests", "entry_point")
_PROGRAM = re.compile(
    r"(?m)^\s*(?:return|def|import|from|class|for|while|if|print|let|const|var|function)\b.*[\w)\]:;{]"
)
_JOINT = re.compile(r"\s*[;|,/+]\s*")
_ANY = "where an item lists several right answers, any one of them is right"


def said_of_several(golds: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What is said where items list several right answers: whether the lists look like labels that all count.

    >>> said_of_several([["a", "b"], ["b"], ["c", "a"]] * 4)[0][:60]
    'the lists hold the same 3 values again and again (a, b, c): '
    """
    values = Counter(text.strip() for texts in golds for text in texts)
    several = sum(len(texts) > 1 for texts in golds)
    different = len({tuple(sorted(texts)) for texts in golds}) > 1 or len({tuple(texts) for texts in golds}) > 1
    if several * 3 < len(golds) or len(golds) < 4 * len(values) or not different:
        return (_ANY,)
    shown = ", ".join(sorted(values)[:5]) + (", …" if len(values) > 5 else "")
    return (
        f"the lists hold the same {len(values)} values again and again ({shown}): labels or a ranking, it seems, yet "
        "any one of an item's is right here; where all of them count give --scorer module:function",
    )


def said_of_joined(labels: Sequence[str]) -> tuple[str, ...]:
    """What is said of labels that are others of them, joined by a mark.

    >>> said_of_joined(["bug", "bug;cards", "cards"])
    ("'bug;cards' is several labels joined: only the same ones in the same order are right",)
    """
    known = set(labels)
    joined = [label for label in labels if len(parts := _JOINT.split(label)) > 1 and known.issuperset(parts)]
    if not joined:
        return ()
    are = "is" if len(joined) == 1 else f"and {len(joined) - 1} more are"
    return (f"{joined[0]!r} {are} several labels joined: only the same ones in the same order are right",)


def tests_of(rows: Sequence[Mapping[str, Any]], golds: Sequence[str]) -> list[str]:
    """The fields with tests of items whose right answers are programs; none where they are not."""
    programs = sum(bool(_PROGRAM.search(text)) for text in golds)
    return [name for name in _TESTS if any(name in row for row in rows)] if programs * 2 > len(golds) else []


def statements_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The field in which every item lists what is expected of an answer, as skill-creator's evals do; else blank.

    >>> statements_of([{"prompt": "Hi", "expectations": ["greets"]}])
    'expectations'
    """
    for name in ("expectations", "assertions"):
        values: list[object] = [row.get(name) for row in rows]
        if values and all(_texts(as_array(value)) for value in values):
            return name
    return ""


def _texts(values: Sequence[JsonValue]) -> bool:
    return bool(values) and all(isinstance(one, str) and bool(one.strip()) for one in values)
