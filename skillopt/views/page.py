"""A run as one HTML file: no script, nothing from elsewhere, and whatever models or items wrote is shown as text.

Long texts are cut, and so are items without a change where there are very many, so that the page stays light.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from skillopt.views.chart import curve
from skillopt.views.matrix import Cell
from skillopt.views.overview import Overview

MOST_TEXT, MOST_ITEMS = 1_500, 400
_SHADES, _LINE = 4, 200


def page(found: Overview) -> str:
    """The page's HTML."""
    shown = [*found.changed, *(v for v in found.items if v not in found.changed)][:MOST_ITEMS]
    anchors = {view.id: n for n, view in enumerate(shown, start=1)}
    return _template().render(run=found, shown=shown, anchors=anchors, curve=curve(found.course))


def visible(text: str, most: int = MOST_TEXT) -> str:
    """A text without what is not shown (control characters, marks that turn the writing round), cut to a length."""
    plain = _printable(text)
    if len(plain) <= most:
        return plain
    if most <= _LINE:
        return f"{plain[: most - 1].rstrip()}…"
    return f"{plain[:most]} … ({len(plain) - most:,} characters more)"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "·" for c in text.replace("\r\n", "\n"))


def _shown(value: object) -> object:
    """What is put into the page: no text brings a control character, also where nobody thought of it."""
    return _printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _mark(cell: Cell) -> str:
    """A cell's class: not asked, missing, or the score in steps."""
    if not cell.asked:
        return "n"
    return "m" if cell.score is None else f"s{round(cell.score * _SHADES)}"


def _sign(cell: Cell) -> str:
    """What stands in a cell, so that no colour is needed."""
    if not cell.asked:
        return ""
    if cell.score is None:
        return "?"
    return "✓" if cell.score >= 1 else "✗" if cell.score <= 0 else f"{100 * cell.score:.0f}"


def _score(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    filters: Mapping[str, Callable[..., object]] = {
        "visible": visible, "mark": _mark, "sign": _sign, "score": _score, "interval": _interval,
    }  # fmt: skip
    for name, function in filters.items():
        environment.filters[name] = function  # pyright: ignore[reportUnknownMemberType]
    return environment.get_template("page.html")
