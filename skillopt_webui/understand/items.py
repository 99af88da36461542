"""Items by steps: which was right when, a page at a time."""

from __future__ import annotations

from typing import cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.views.answers.grid import Window, split_columns
from skillopt.views.measurements import SPLITS, Split
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import choice, number, run_of, words
from skillopt_webui.understand.shelf import shelf_of

_COLUMNS, _ROWS = 25, 50


async def show(request: Request, opened: RunPage) -> Response:
    """A page of the matrix of a split."""
    run = run_of(opened)
    columns = await run_in_threadpool(split_columns, run)
    known = [split for split in SPLITS if split in columns]
    if not known:
        return frame.render(request, "understand/items.html", opened=opened, tab="items", grid=None, known=known)
    split = cast("Split", choice(request, "split", known, known[0]))
    last = max(0, len(columns[split]) - _COLUMNS)
    window = Window(number(request, "column", last, most=len(columns[split])), number(request, "row"), _COLUMNS, _ROWS)
    only = words(request, "only")
    found = await run_in_threadpool(shelf_of(request).grid, run, split, window, only)
    return frame.render(request, "understand/items.html", opened=opened, tab="items", grid=found, known=known,
                        only=only)  # fmt: skip


TAB = Tab("items", "Items", show)
