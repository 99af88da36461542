"""What a run came to: verdict, sealed test, classes, course; and the whole of it as one file to keep or send."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from skillopt.views.brief import beside_steps, brief
from skillopt.views.drawn.chart import LEGEND, curve
from skillopt.views.drawn.page import page
from skillopt.views.overview import overview
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import run_of


async def show(request: Request, opened: RunPage) -> Response:
    """The first look."""
    run = run_of(opened)
    found = await run_in_threadpool(brief, run)
    return frame.render(request, "understand/result.html", opened=opened, tab="result", found=found,
                        curve=curve(found.course, beside_steps(found.nodes)), legend=LEGEND)  # fmt: skip


async def file(request: Request, opened: RunPage) -> Response:
    """The run as one HTML file, as `skillopt view` writes it."""
    del request
    run = run_of(opened)
    html = await run_in_threadpool(lambda: page(overview(run)))
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in opened.name)
    return HTMLResponse(html, headers={"content-disposition": f'attachment; filename="{name}.html"'})


TAB = Tab("result", "Result", show, more=(("/file.html", file),))
