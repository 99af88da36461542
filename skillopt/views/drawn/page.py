"""A run as one HTML file: no script, nothing from elsewhere, and whatever models or items wrote is shown as text.

Long texts are cut, and so are items without a change where there are very many, so that the page stays light.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from skillopt.views.brief import beside_steps
from skillopt.views.drawn import drawings
from skillopt.views.drawn.chart import LEGEND, curve
from skillopt.views.drawn.filters import FILTERS, shown, visible
from skillopt.views.drawn.pictures import Pictures
from skillopt.views.overview import Overview

MOST_ITEMS = 400
TEMPLATES = Path(__file__).parent
"""`page.html`, and `drawn.html` with the parts that the dashboard draws as well."""

__all__ = ["MOST_ITEMS", "TEMPLATES", "page", "visible"]


def page(found: Overview) -> str:
    """The page's HTML."""
    chosen = [*found.changed, *(v for v in found.items if v not in found.changed)][:MOST_ITEMS]
    anchors = {view.id: n for n, view in enumerate(chosen, start=1)}
    pictures = Pictures(found.root)
    return _template().render(
        pictures=pictures.of,
        run=found, shown=chosen, anchors=anchors, curve=curve(found.course, beside_steps(found.nodes)),
        legend=LEGEND, lineage=drawings.lineage(found.nodes),
        growth=drawings.growth(found.versions),
        bars=drawings.effect_bars(found.effects.bars) if found.effects is not None else "",
        noise=drawings.noise(found.floor) if found.floor is not None else "",
    )  # fmt: skip


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=shown,
    )  # fmt: skip
    for name, function in FILTERS.items():
        environment.filters[name] = function  # pyright: ignore[reportUnknownMemberType]
    return environment.get_template("page.html")
