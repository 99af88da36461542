"""The first view of a run: where it stands now."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt_webui import frame
from skillopt_webui.routing import Tab
from skillopt_webui.runs import RunPage


async def show(request: Request, opened: RunPage) -> Response:
    """Where it stands."""
    return frame.render(request, "watch.html", opened=opened, tab="watch")


async def first(request: Request, opened: RunPage) -> Response:
    """`/run/{id}` leads to the first tab."""
    del request
    return RedirectResponse(f"/run/{opened.id}/watch", 303)


TAB = Tab("watch", "Watch", show)
