"""The problems of MathVerse's sample: triangles, rectangles and graphs whose numbers stand in the picture."""

from __future__ import annotations

from typing import NamedTuple

from skillopt.envs.datasets.drawing import Canvas


class Problem(NamedTuple):
    """A problem, its wording with everything in text, and what the picture says."""

    subject: str
    subfield: str
    question: str
    full: str
    answer: str
    figure: str
    labels: tuple[str, ...]


def problems() -> list[Problem]:
    """Thirty-six problems; the same ones every time."""
    return [problem for n in range(1, 13) for problem in (_triangle(n), _rectangle(n), _graph(n))]


def _triangle(n: int) -> Problem:
    a, b = 30 + 5 * n, 40 + 2 * n
    c = 180 - a - b
    labels = "ABCD"
    values = sorted({c, c + 10, c - 10, 90 + n})[:4]
    options = "\n".join(f"{label}:{value}°" for label, value in zip(labels, values, strict=False))
    right = labels[values.index(c)]
    stem = f"In triangle {n} of the figure, two angles are given. Find the third angle."
    full = f"A triangle has the angles {a}° and {b}°. Find the third angle."
    return Problem(
        "Plane Geometry", "Angle", f"{stem}\nChoices:\n{options}", full, right, "triangle", (f"{a}°", f"{b}°", "?")
    )


def _rectangle(n: int) -> Problem:
    width, height = 2 * n + 3, n + 2
    stem = f"Find the area of rectangle {n} in the figure, with its unit."
    full = f"A rectangle is {width} cm long and {height} cm wide. Find its area, with its unit."
    return Problem(
        "Plane Geometry", "Area", stem, full, f"{width * height} cm^2", "rectangle", (f"{width} cm", f"{height} cm")
    )


def _graph(n: int) -> Problem:
    slope, start = 1 + n % 4, n
    stem = f"The line {n} of the figure is the graph of a function. What is its value at x = {n + 5}?"
    full = f"A line passes through (0, {start}) and (1, {start + slope}). What is its value at x = {n + 5}?"
    labels = (f"(0, {start})", f"(1, {start + slope})")
    return Problem("Functions", "Function Properties", stem, full, str(start + slope * (n + 5)), "graph", labels)


def draw(problem: Problem) -> bytes:
    """The picture."""
    canvas = Canvas(480, 360)
    if problem.figure == "triangle":
        canvas.polygon([(60, 300), (420, 300), (200, 60)])
        for place, text in zip([(100, 280), (370, 280), (200, 95)], problem.labels, strict=True):
            canvas.text(place, text, centre=True)
    elif problem.figure == "rectangle":
        canvas.polygon([(80, 80), (400, 80), (400, 280), (80, 280)])
        canvas.text((240, 305), problem.labels[0], centre=True)
        canvas.text((40, 180), problem.labels[1], centre=True)
    else:
        canvas.line([(60, 320), (440, 320)])
        canvas.line([(60, 320), (60, 30)])
        canvas.line([(60, 240), (400, 60)], width=3)
        canvas.text((75, 245), problem.labels[0])
        canvas.text((235, 165), problem.labels[1])
    return canvas.png()
