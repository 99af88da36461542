"""The image sets of MMRB's sample: which picture has more, what was added, which comes next."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from skillopt.core.streams import named
from skillopt.envs.datasets.drawing import Canvas

Cells = tuple[tuple[str, str], ...]
_SHAPES = ("circle", "square", "triangle")
_COLOURS = ("red", "blue", "green")


class Question(NamedTuple):
    """A question over pictures, each a row of (shape, colour)."""

    subtask: str
    question: str
    options: tuple[str, ...]
    answer: str
    how: str
    pictures: tuple[Cells, ...]


def questions() -> list[Question]:
    """Thirty-six questions; the same ones every time."""
    return [maker(n, named(11, "images", n)) for n in range(1, 13) for maker in (_more, _added, _next)]


def _more(number: int, draw: Random) -> Question:
    counts = draw.sample(range(2, 7), 3)
    colour, shape = draw.choice(_COLOURS), draw.choice(_SHAPES)
    most = "ABC"[counts.index(max(counts))]
    question = f"Set {number}: here are {{image#1}}, {{image#2}} and {{image#3}}. Which one holds the most shapes?"
    options = ("(A) the first image", "(B) the second image", "(C) the third image")
    pictures = tuple(tuple((shape, colour) for _ in range(count)) for count in counts)
    return Question("comparison", question, options, most, "Count the shapes of each image.", pictures)


def _added(number: int, draw: Random) -> Question:
    before = tuple((draw.choice(_SHAPES), draw.choice(_COLOURS)) for _ in range(3))
    new = (draw.choice(_SHAPES), draw.choice(_COLOURS))
    at = draw.randrange(4)
    after = (*before[:at], new, *before[at:])
    question = f"Set {number + 100}: from {{image#1}} to {{image#2}} one shape was added. Which one?"
    return Question("change", question, (), f"{new[1]} {new[0]}", "Match the shapes from the left.", (before, after))


def _next(number: int, draw: Random) -> Question:
    colour, shape = draw.choice(_COLOURS), draw.choice(_SHAPES)
    first, step = draw.randint(1, 2), draw.randint(1, 2)
    counts = [first + step * n for n in range(3)]
    question = f"Set {number + 200}: the three images form a sequence. How many shapes does the fourth one have?"
    pictures = tuple(tuple((shape, colour) for _ in range(count)) for count in counts)
    return Question("sequence", question, (), str(counts[2] + step), "Count and take the difference.", pictures)


def draw(cells: Cells) -> bytes:
    """One picture."""
    canvas = Canvas(480, 120)
    for x, (shape, colour) in enumerate(cells):
        canvas.shape(shape, (50 + 62 * x, 60), 22, colour=colour)
    return canvas.png()
