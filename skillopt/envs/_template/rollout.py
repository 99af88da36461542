"""The prompt and the score of this environment: pure functions, easy to test."""

from __future__ import annotations

from skillopt.core.item import Item
from skillopt.core.outcome import Scored
from skillopt.envs.scorers import extract_answer

SYSTEM = "Count the letters of a word. End with the number in answer tags: <answer>5</answer>"


def system_text(skill_text: str) -> str:
    """Shared text first, then the skill; no skill section for a blank skill."""
    return f"{SYSTEM}\n\n## Skill\n\n{skill_text}" if skill_text.strip() else SYSTEM


def gold(item: Item) -> str:
    """The right answer, computed; it could as well be a field of the item."""
    return str(sum(c.isalpha() for c in str(item.data["word"])))


def score(item: Item, text: str) -> Scored:
    """1.0 or 0.0, and for a wrong answer the reason that the analysts read."""
    answer = extract_answer(text, "answer_tag")
    right = answer == gold(item)
    reason = "" if right else f"answered {answer!r}, expected {gold(item)!r}"
    return Scored(float(right), float(right), fail_reason=reason, predicted=answer)
