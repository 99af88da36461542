"""The first view of a run: where it stands now, and what can be done about it."""

from __future__ import annotations

from urllib.parse import urlencode

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt.api.steering import order_of, steer
from skillopt.records.live.control import SETTABLE
from skillopt.records.reading import Run
from skillopt.views.brief import beside_steps
from skillopt.views.drawn.chart import LEGEND, curve
from skillopt.views.quick_course import quick_course
from skillopt.views.tree import tree
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.state import state_of
from skillopt_webui.watch.feed import Feed, follow, stream
from skillopt_webui.watch.lines import KINDS

_WAIT_S = 2.0


async def show(request: Request, opened: RunPage) -> Response:
    """Where it stands."""
    state = state_of(request)
    feed = await state.feeds.of(opened.path)
    chart = None if opened.run is None else await run_in_threadpool(_chart, opened.run)
    launch = await run_in_threadpool(state.launches.of_run, opened.path)
    return frame.render(
        request, "watch.html", opened=opened, tab="watch", parts=_safe(feed.parts(parts_of)), kinds=KINDS,
        launch=launch,
        chart=chart, legend=LEGEND, settable=SETTABLE, alive=feed.alive, pulse=feed.pulse,
        said=request.query_params.get("said", "")[:300],
    )  # fmt: skip


def _chart(run: Run) -> Markup | None:
    points = quick_course(run)
    return curve(points, beside_steps(tree(run))) if len(points) > 1 else None


def parts_of(feed: Feed) -> dict[str, str]:
    """The live parts of a run's page."""
    templates = frame.environment()
    values = {"seen": feed.seen, "pulse": feed.pulse, "alive": feed.alive, "status": status_of(feed)}
    return {
        "live-status": templates.get_template("live/status.html").render(values),
        "live-now": templates.get_template("live/now.html").render(values),
        "live-steps": templates.get_template("live/steps.html").render(values),
        "live-cost": templates.get_template("live/cost.html").render(values),
        "live-log": templates.get_template("live/log.html").render(values),
    }


def status_of(feed: Feed) -> str:
    """One word."""
    if feed.alive:
        if feed.pulse is not None and feed.pulse.paused:
            return "paused"
        return "stopping" if feed.pulse is not None and feed.pulse.stopping else "running"
    if not feed.seen.outcome:
        return "unfinished"
    return {"done": "finished"}.get(feed.seen.outcome, feed.seen.outcome)


def _safe(parts: dict[str, str]) -> dict[str, Markup]:
    """What the templates made is HTML already."""
    return {name.removeprefix("live-"): Markup(html) for name, html in parts.items()}


async def first(request: Request, opened: RunPage) -> Response:
    """`/run/{id}` leads to the first tab."""
    del request
    return RedirectResponse(f"/run/{opened.id}/watch", 303)


async def live(request: Request, opened: RunPage) -> Response:
    """What changes, as it changes."""
    return stream(
        follow(await state_of(request).feeds.of(opened.path), parts_of, request.query_params.get("at", "")[:40])
    )


async def order(request: Request, opened: RunPage, form: FormData) -> Response:
    """Pause, resume, stop, or set a cap or the number of workers; the page says what came of it."""
    del request
    verb = str(form.get("order", ""))
    words = [verb, str(form.get("key", "")), str(form.get("value", ""))] if verb == "set" else [verb]
    effect = await run_in_threadpool(lambda: steer(opened.path, order_of(words, by="dashboard"), wait_s=_WAIT_S))
    said = effect or "ordered; the run looks between calls"
    return RedirectResponse(f"/run/{opened.id}/watch?{urlencode({'said': said})}", 303)


TAB = Tab("watch", "Watch", show, more_posts=(("/order", order),))
