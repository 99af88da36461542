"""Nights of the companion on this machine, read from its own directory; nothing is adopted or changed here.

They are of all the user's projects and lie outside of the roots, so `Settings.nights` says whether they are shown.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from skillopt.core.errors import RunDirError
from skillopt.sleep.errors import SleepError
from skillopt.sleep.nights import NightRow, nights, review_page
from skillopt_webui import frame
from skillopt_webui.places import Page
from skillopt_webui.routing import get
from skillopt_webui.state import state_of

SHOWN = 100


async def show(request: Request) -> Response:
    """The list, the newest first."""
    rows = await run_in_threadpool(_rows, request)
    return frame.render(request, "nights.html", rows=rows[:SHOWN], total=len(rows))


def _rows(request: Request) -> list[NightRow]:
    return nights() if state_of(request).settings.nights else []


async def review(request: Request) -> Response:
    """The review of one night (`?night=…&project=…`) as a file: it has styles of its own, which no page of ours may."""
    asked = (request.query_params.get("project", ""), request.query_params.get("night", ""))
    rows = await run_in_threadpool(_rows, request)
    row = next((r for r in rows if (str(r.project), r.night) == asked), None)
    if row is None:
        raise RunDirError("there is no such night here")
    try:
        html = await run_in_threadpool(review_page, row)
    except SleepError as error:
        raise RunDirError(str(error)) from error
    return HTMLResponse(html, headers={"content-disposition": f'attachment; filename="night-{row.night}.html"'})


PAGE = Page("/nights", "Nights", show)
ROUTES = (get("/nights/review", review),)
