"""Several runs side by side: their best skills on the items that their sealed tests share, all pairs at once."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.api.comparing import Comparison, compare
from skillopt.core.errors import SkillOptError
from skillopt_webui import frame
from skillopt_webui.places import Page
from skillopt_webui.state import state_of
from skillopt_webui.understand.grids import grid_rows

MOST = 12


async def show(request: Request) -> Response:
    """The form, and the comparison of what was chosen (`?run=…&run=…`)."""
    runs = state_of(request).runs
    rows = await run_in_threadpool(runs.rows)
    known = {run_id for run_id, _ in rows}
    chosen = [name for name in dict.fromkeys(request.query_params.getlist("run")) if name in known][:MOST]
    found: Comparison | None = None
    problem: SkillOptError | None = None
    if len(chosen) > 1:
        try:
            found = await run_in_threadpool(lambda: compare(*map(runs.find, chosen)))
        except SkillOptError as error:
            problem = error
    return frame.render(request, "understand/compare.html", rows=rows, chosen=chosen, found=found, problem=problem,
                        grids=await run_in_threadpool(grid_rows, runs))  # fmt: skip


PAGE = Page("/compare", "Compare", show)
