"""The list of runs."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt_webui import frame
from skillopt_webui.state import state_of


async def show(request: Request) -> Response:
    """Every run under the roots."""
    state = state_of(request)
    rows = await run_in_threadpool(state.runs.rows)
    return frame.render(request, "home.html", rows=rows, roots=state.runs.roots)
