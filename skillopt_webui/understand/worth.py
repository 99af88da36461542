"""What each change is worth, and how far luck alone would have come: effects with intervals, the noise floor."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt.views.drawn import drawings
from skillopt.views.effects import effects
from skillopt.views.noise import noise_floor
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import run_of


async def show(request: Request, opened: RunPage) -> Response:
    """Both."""
    run = run_of(opened)
    worth = await run_in_threadpool(effects, run)
    floor = await run_in_threadpool(noise_floor, run)
    return frame.render(
        request, "understand/worth.html", opened=opened, tab="worth", effects=worth, floor=floor,
        bars=drawings.effect_bars(worth.bars) if worth is not None else "",
        noise=drawings.noise(floor) if floor is not None else "",
    )  # fmt: skip


TAB = Tab("worth", "Worth and luck", show)
