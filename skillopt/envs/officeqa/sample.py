"""OfficeQA's sample: yearly bulletins of a made-up treasury, each with one table, and questions about its figures.

Text files for the functions, and the same pages as parsed elements for the oracle protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from skillopt.core.json_types import JsonObject
from skillopt.core.streams import named
from skillopt.store.atomic import write_json, write_text

BULLETINS = 8
_ITEMS = ("customs", "excise", "income tax", "postal service", "timber sales", "tolls")
_YEAR = 1951
_PAGE = 5


class Asked(NamedTuple):
    """A question, its answer and its difficulty."""

    question: str
    gold: str
    category: str


def figures(number: int) -> dict[str, int]:
    """Receipts of a bulletin's year by item, in thousands."""
    draw = named(31, "officeqa bulletin", number)
    return {item: draw.randint(120, 9_800) for item in _ITEMS}


def stem(number: int) -> str:
    """A bulletin's file name without its suffix."""
    return f"bulletin_{_YEAR + number}_03"


def questions(number: int) -> list[Asked]:
    """Four questions about a bulletin."""
    year, rows = _YEAR + number, figures(number)
    first, second, third, _, _, last = _ITEMS
    return [
        Asked(f"What were receipts from {first} in {year}, in thousands?", f"{rows[first]:,}", "easy"),
        Asked(f"What were receipts from {last} in {year}, in thousands?", f"{rows[last]:,}", "easy"),
        Asked(f"What were receipts from {second} and {third} together in {year}, in thousands?",
              f"{rows[second] + rows[third]:,}", "hard"),
        Asked(f"Which item brought the most in {year}?", max(rows, key=rows.__getitem__), "hard"),
    ]  # fmt: skip


def write_bulletin(number: int, place: Path) -> list[JsonObject]:
    """Write a bulletin below `place`; returns its items."""
    name, rows = stem(number), figures(number)
    title = f"Treasury bulletin, March {_YEAR + number + 1}. Receipts of {_YEAR + number} (in thousands)"
    lines = [title, "", "Item | Receipts", *(f"{item} | {value:,}" for item, value in rows.items())]
    write_text(place / "docs" / f"{name}.txt", "\n".join([*lines, f"Total | {sum(rows.values()):,}", ""]))
    cells = "".join(f"<tr><td>{item}</td><td>{value:,}</td></tr>" for item, value in rows.items())
    table = f"{title}<table><tr><th>Item</th><th>Receipts</th></tr>{cells}</table>"
    elements = [{"content": "Cover", "bbox": [{"page_id": 1}]}, {"content": table, "bbox": [{"page_id": _PAGE}]}]
    write_json(place / "docs/jsons" / f"{name}.json", {"document": {"elements": elements}})
    return [
        {
            "uid": f"{name}-{n}",
            "question": asked.question,
            "ground_truth": asked.gold,
            "category": asked.category,
            "source_files": [f"{name}.txt"],
            "source_docs": [f"https://example.org/{name}?page={_PAGE}"],
        }
        for n, asked in enumerate(questions(number), start=1)
    ]
