"""Looking at a run: the whole of it as a view model or as one HTML file, and one item with its answers.

Records are read, nothing is asked of a model, and nothing is written but the page.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.records.reading import Run, open_run
from skillopt.store.atomic import write_text
from skillopt.views.answers.items import Answer, ItemView, find_item
from skillopt.views.drawn.page import page, visible
from skillopt.views.overview import ClassRow, Overview, overview
from skillopt.views.worth import Worth

__all__ = ["Answer", "ClassRow", "ItemView", "Overview", "Worth", "item", "look", "view", "visible"]

PAGE = "view.html"


def look(run: str | Path) -> Overview:
    """A run as people see it: verdict, scores, classes, course, what each change is worth, items, cost, next steps.

    >>> look("no_such_run")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    skillopt.core.errors.RunDirError: no_such_run is not in a run directory ...
    """
    return overview(_opened(run))


def item(run: str | Path, name: str) -> ItemView:
    """One item: question, right answer, answers before and after, verdict, every attempt. `name` is its id, the
    beginning of it, or words of its name. Raises `DataError` when there is none or more than one.

    >>> item("outputs/demo", "box-40").verdict  # doctest: +SKIP
    'won'
    """
    return find_item(_opened(run), name)


def view(run: str | Path, out: str | Path | None = None) -> Path:
    """Write the run as one self-contained page (`<run>/logs/view.html`, or `out`) and return its path.

    >>> view("outputs/demo").name  # doctest: +SKIP
    'view.html'
    """
    opened = _opened(run)
    place = Path(out) if out is not None else opened.root / "logs" / PAGE
    write_text(place, page(overview(opened)))
    return place


def _opened(run: str | Path) -> Run:
    return open_run(Path(run))
