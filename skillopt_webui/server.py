"""The dashboard's server: `build` makes the application, `serve` runs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from skillopt.core.errors import SkillOptError
from skillopt_webui import frame
from skillopt_webui.guard import Guard
from skillopt_webui.launch.files import ConfigFiles
from skillopt_webui.launch.queue import Launches
from skillopt_webui.pages import home, launching, new, own_data, watch
from skillopt_webui.pages.all import PAGES, ROUTES, TABS
from skillopt_webui.routing import get, of_run, routes_of
from skillopt_webui.runs import Runs
from skillopt_webui.settings import Settings
from skillopt_webui.state import State
from skillopt_webui.watch.feed import Feeds

_log = logging.getLogger("skillopt.webui")
TICK_S = 1.0


def build(settings: Settings) -> Starlette:
    """The application. Nothing is started before the server runs it."""
    routes: list[Route | Mount] = [
        *(get(page.path, page.show) for page in PAGES),
        get("/live", home.live),
        get("/run/{run_id}", of_run(watch.first)),
        get("/run/{run_id}/live", of_run(watch.live)),
        *(route for tab in TABS for route in routes_of(tab)),
        *ROUTES,
        *new.ROUTES,
        *own_data.ROUTES,
        *launching.ROUTES,
        Mount("/static", StaticFiles(directory=frame.HERE / "static")),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={SkillOptError: frame.on_error, 404: frame.on_missing, 500: frame.on_fault},
        lifespan=_life,
    )
    app.state.ui = State(
        settings, Runs(settings.roots), PAGES, TABS, Feeds(), Launches(settings.roots[0].resolve(), settings.at_once),
        ConfigFiles(settings.configs, settings.projects),
    )  # fmt: skip
    return app


@asynccontextmanager
async def _life(app: Starlette) -> AsyncGenerator[None]:
    """The queue moves while the server runs; what it has started goes on without it."""
    state: State = app.state.ui
    task = None if state.settings.read_only else asyncio.get_running_loop().create_task(_ticking(state.launches))
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        await state.feeds.close()


async def _ticking(launches: Launches) -> None:
    while True:
        try:
            await run_in_threadpool(launches.tick)
        except (OSError, SkillOptError):  # a full disk or a root that is gone for a while: the next tick tries again
            _log.exception("the queue could not be read")
        await asyncio.sleep(TICK_S)


def serve(settings: Settings) -> None:
    """Run the server until it is interrupted."""
    import uvicorn

    from skillopt_webui.launch.variables import load_variables

    load_variables()

    uvicorn.run(build(settings), host=settings.host, port=settings.port, log_level="warning", server_header=False,
                timeout_graceful_shutdown=1)  # fmt: skip
