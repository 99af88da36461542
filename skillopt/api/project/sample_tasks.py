"""The sample items of `skillopt init`: dates as people type them, to be written as YYYY-MM-DD. Always the same ones."""

from __future__ import annotations

import random
from datetime import date, timedelta

NAME = "dates"
SYSTEM_PROMPT = "You normalise dates from forms. Rewrite the date as YYYY-MM-DD."
OPENING = "Rewrite the date of the form as YYYY-MM-DD."
COUNT = 100

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_FIRST, _DAYS = date(1950, 1, 1), 29_000


def sample_tasks(count: int = COUNT) -> list[dict[str, str]]:
    """Items with `id`, `question` and `answer`. Slashes mean day first, dots too: the form is a European one."""
    draw = random.Random(20)
    return [_task(n, _FIRST + timedelta(days=draw.randrange(_DAYS)), draw) for n in range(1, count + 1)]


def _task(number: int, day: date, draw: random.Random) -> dict[str, str]:
    month = _MONTHS[day.month - 1]
    written = draw.choice(
        (
            f"{day.day}/{day.month}/{day.year}",
            f"{day.day:02d}.{day.month:02d}.{day.year % 100:02d}",
            f"{_ordinal(day.day)} of {month} {day.year}",
            f"{month[:3]}. {day.day}, {day.year}",
            f"{month} {_ordinal(day.day)} '{day.year % 100:02d}",
            f"{day.day} {month[:3].lower()} {day.year}",
        )
    )
    return {"id": f"date-{number:03d}", "question": f"Date on the form: {written}", "answer": day.isoformat()}


def _ordinal(day: int) -> str:
    suffix = "th" if 11 <= day % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"
