"""The puzzles of BabyVision's sample: counting shapes, finding the odd one, following a line."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from skillopt.core.streams import named
from skillopt.envs.datasets.drawing import Canvas

_SHAPES = ("circle", "square", "triangle")
_COLOURS = ("red", "blue", "green")
_CELL = 80


class Puzzle(NamedTuple):
    """A question with its answer, and a grid of (shape, colour) to draw; `paths` are lines from top to bottom."""

    subtype: str
    question: str
    options: tuple[str, ...]
    answer: str
    how: str
    grid: tuple[tuple[tuple[str, str], ...], ...] = ()
    paths: tuple[int, ...] = ()


def puzzles() -> list[Puzzle]:
    """Thirty-six puzzles; the same ones every time."""
    makers = (_count, _odd, _follow)
    return [maker(number, named(11, "puzzle", number)) for number in range(1, 13) for maker in makers]


def _count(number: int, draw: Random) -> Puzzle:
    grid = tuple(tuple((draw.choice(_SHAPES), draw.choice(_COLOURS)) for _ in range(5)) for _ in range(4))
    shape, colour = grid[1][2]
    count = sum(cell == (shape, colour) for row in grid for cell in row)
    question = f"How many {colour} {shape}s are in picture {number}?"
    return Puzzle("counting", question, (), str(count), "Go row by row and count each once.", grid)


def _odd(number: int, draw: Random) -> Puzzle:
    shape, other = draw.sample(_SHAPES, 2)
    place, colour = draw.randrange(4), draw.choice(_COLOURS)
    row = tuple((other if n == place else shape, colour) for n in range(4))
    options = ("the first", "the second", "the third", "the fourth")
    question = f"Which one of the four shapes in picture {number + 100} differs from the others?"
    return Puzzle("odd one out", question, options, "ABCD"[place], f"All are {shape}s but one.", (row,))


def _follow(number: int, draw: Random) -> Puzzle:
    order = tuple(draw.sample(range(4), 4))
    start = draw.randrange(4)
    question = f"Follow the line from {start + 1} at the top of picture {number + 200}. At which letter does it end?"
    return Puzzle("line tracing", question, (), "PQRS"[order[start]], "Keep to one line where two cross.", (), order)


def draw(puzzle: Puzzle) -> bytes:
    """The picture."""
    canvas = Canvas(480, 400)
    for y, row in enumerate(puzzle.grid):
        for x, (shape, colour) in enumerate(row):
            canvas.shape(shape, (60 + x * _CELL, 60 + y * _CELL), 26, colour=colour)
    for start, end in enumerate(puzzle.paths):
        canvas.text((80 + start * 100, 30), str(start + 1), centre=True)
        canvas.line([(80 + start * 100, 50), (80 + start * 100, 110), (80 + end * 100, 290), (80 + end * 100, 345)])
        canvas.text((80 + end * 100, 365), "PQRS"[end], centre=True)
    return canvas.png()
