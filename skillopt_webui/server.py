"""The dashboard's server: `build` makes the application, `serve` runs it."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from skillopt.core.errors import SkillOptError
from skillopt_webui import frame
from skillopt_webui.guard import Guard
from skillopt_webui.pages import watch
from skillopt_webui.pages.all import PAGES, TABS
from skillopt_webui.routing import get, of_run, routes_of
from skillopt_webui.runs import Runs
from skillopt_webui.settings import Settings
from skillopt_webui.state import State


def build(settings: Settings) -> Starlette:
    """The application. Nothing is started before the server runs it."""
    routes: list[Route | Mount] = [
        *(get(page.path, page.show) for page in PAGES),
        get("/run/{run_id}", of_run(watch.first)),
        *(route for tab in TABS for route in routes_of(tab)),
        Mount("/static", StaticFiles(directory=frame.HERE / "static")),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={SkillOptError: frame.on_error, 404: frame.on_missing, 500: frame.on_fault},
    )
    app.state.ui = State(settings, Runs(settings.roots), PAGES, TABS)
    return app


def serve(settings: Settings) -> None:
    """Run the server until it is interrupted."""
    import uvicorn

    uvicorn.run(build(settings), host=settings.host, port=settings.port, log_level="warning", server_header=False)
