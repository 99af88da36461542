"""What the target has to know where some questions have no answer in their text.

`own_rows` gives such a question the right answer `unanswerable`; a target that was never told the word cannot say it.
A project and a call from Python tell it in the same sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.envs.data.fields import value_at
from skillopt.envs.data.own import UNANSWERABLE
from skillopt.envs.scorers import Gold


def unanswerable_sentence(rows: Sequence[Mapping[str, object]], answer_field: str) -> str:
    """The sentence, after a space, for the system prompt; blank where every question has an answer."""
    some = any(Gold.of(value_at(row, answer_field)).texts == (UNANSWERABLE,) for row in rows)
    return f" Where the text holds no answer, answer: {UNANSWERABLE}." if some else ""
