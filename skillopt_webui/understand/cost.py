"""Cost by role and stage."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.views.costs import costs
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import run_of


async def show(request: Request, opened: RunPage) -> Response:
    """The table."""
    found = await run_in_threadpool(costs, run_of(opened))
    return frame.render(request, "understand/cost.html", opened=opened, tab="cost", found=found)


TAB = Tab("cost", "Cost", show)
