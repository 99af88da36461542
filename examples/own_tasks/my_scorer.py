"""A scorer of your own: `scorer: {name: callable, function: my_scorer:score, directory: examples/own_tasks}`."""

from typing import Any


def score(answer: str, item: dict[str, Any]) -> dict[str, Any]:
    """One point for the right queue, half a point (soft only) when it is named among other words."""
    wanted = str(item["answer"])
    given = answer.strip().lower()
    if given == wanted:
        return {"hard": 1.0}
    named = wanted in given.split()
    return {"hard": 0.0, "soft": 0.5 if named else 0.0, "fail_reason": f"answered {given!r}, the queue is {wanted!r}"}
