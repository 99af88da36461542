"""Pictures for samples: pages of text and tables, and simple figures, drawn with Pillow.

Black on white, in Pillow's own font: what is drawn can be read by a vision model at low resolution.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from skillopt.core.errors import ConfigError

_MARGIN = 40
_INK = "black"


class Canvas:
    """A white page. Coordinates are pixels from the top left."""

    def __init__(self, width: int, height: int) -> None:
        try:
            image: Any = import_module("PIL.Image")
            draw: Any = import_module("PIL.ImageDraw")
            self._fonts: Any = import_module("PIL.ImageFont")
        except ModuleNotFoundError as error:
            raise ConfigError(
                "drawing the sample's images needs the package Pillow", hint='run: pip install "skillopt[data]"'
            ) from error
        self._image = image.new("RGB", (width, height), "white")
        self._draw = draw.Draw(self._image)

    def text(
        self, at: tuple[float, float], text: str, *, size: int = 20, colour: str = _INK, centre: bool = False
    ) -> None:
        """One line of text, its top left corner (or its centre) at a place."""
        font = self._fonts.load_default(size)
        self._draw.text(at, text, fill=colour, font=font, **({"anchor": "mm"} if centre else {}))

    def line(self, points: Sequence[tuple[float, float]], *, colour: str = _INK, width: int = 2) -> None:
        """A line through points."""
        self._draw.line(list(points), fill=colour, width=width)

    def shape(self, kind: str, centre: tuple[float, float], radius: float, *, colour: str = _INK) -> None:
        """A filled `circle`, `square` or `triangle`."""
        x, y = centre
        if kind == "circle":
            self._draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=colour)
        elif kind == "square":
            self._draw.rectangle([x - radius, y - radius, x + radius, y + radius], fill=colour)
        else:
            self._draw.polygon([(x, y - radius), (x - radius, y + radius), (x + radius, y + radius)], fill=colour)

    def polygon(self, points: Sequence[tuple[float, float]]) -> None:
        """An outline."""
        self.line([*points, points[0]], width=3)

    def table(self, at: tuple[float, float], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> float:
        """A ruled table; returns where it ends."""
        x, y = at
        height, right = 34, x + sum(widths)
        for row in rows:
            self.line([(x, y), (right, y)], width=1)
            left = x
            for cell, width in zip(row, widths, strict=True):
                self.text((left + 8, y + 7), cell, size=18)
                left += width
            y += height
        self.line([(x, y), (right, y)], width=1)
        return y

    def png(self) -> bytes:
        """The picture's file."""
        out = io.BytesIO()
        self._image.save(out, format="PNG")
        return out.getvalue()


def page(title: str, lines: Sequence[str], table: Sequence[Sequence[str]] = (), foot: Sequence[str] = ()) -> bytes:
    """A page: a heading, lines, a table, lines below it."""
    canvas = Canvas(800, 1000)
    canvas.text((_MARGIN, _MARGIN), title, size=32)
    y: float = 110
    for line in lines:
        canvas.text((_MARGIN, y), line)
        y += 32
    if table:
        widths = [(800 - 2 * _MARGIN) // len(table[0])] * len(table[0])
        y = canvas.table((_MARGIN, y + 20), table, widths) + 30
    for line in foot:
        canvas.text((_MARGIN, y), line)
        y += 32
    return canvas.png()
