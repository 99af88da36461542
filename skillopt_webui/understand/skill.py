"""The skill as it grew: versions, one of them with blame per line, the difference of any two."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.views.drawn import drawings
from skillopt.views.growth import BEST, version_diff, versions
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import choice, run_of
from skillopt_webui.understand.shelf import shelf_of


async def show(request: Request, opened: RunPage) -> Response:
    """A version with blame, and where another is named the difference."""
    run = run_of(opened)
    rows = await run_in_threadpool(versions, run)
    keys = list(dict.fromkeys([*(row.key for row in rows), BEST]))
    key = choice(request, "version", keys, BEST)
    against = choice(request, "against", keys, "")
    text = await run_in_threadpool(shelf_of(request).blamed, run, key)
    diff = await run_in_threadpool(version_diff, run, against, key) if against else None
    return frame.render(
        request, "understand/skill.html", opened=opened, tab="skill", rows=rows, keys=keys, key=key, against=against,
        text=text, diff=diff, drawing=drawings.growth(rows),
    )  # fmt: skip


TAB = Tab("skill", "Skill", show)
