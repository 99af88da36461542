"""Starting, ending and starting again: what these buttons do. Nothing waits for a run."""

from __future__ import annotations

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt.records.directory import LOCK
from skillopt_webui import frame
from skillopt_webui.launch.changes import changes_of
from skillopt_webui.launch.queue import Launches
from skillopt_webui.launch.record import Launch
from skillopt_webui.launch.variables import load_variables
from skillopt_webui.routing import acting_on_run, get, post
from skillopt_webui.runs import RunPage, id_of
from skillopt_webui.state import state_of


async def start(request: Request, form: FormData) -> Response:
    """Queue a run and go to where it can be watched."""
    state = state_of(request)
    file = await run_in_threadpool(state.files.named, str(form.get("file", "")))
    sets = await run_in_threadpool(changes_of, form)
    name = str(form.get("name", "")).strip()

    def begin() -> Launch:
        load_variables()
        return _begun(state.launches, state.launches.add(file.path, [*file.base, *sets], name))

    launch = await run_in_threadpool(begin)
    return RedirectResponse(f"/launch/{launch.id}", 303)


async def again(request: Request, opened: RunPage, form: FormData) -> Response:
    """Let a run go on: the same command again."""
    del form
    launches = state_of(request).launches
    launch = await run_in_threadpool(lambda: _begun(launches, launches.again(opened.path)))
    return RedirectResponse(f"/launch/{launch.id}", 303)


async def show(request: Request) -> Response:
    """A launch: its run's page once there is one, until then what it waits for or what it said."""
    state = state_of(request)
    launch = await run_in_threadpool(state.launches.get, request.path_params["launch_id"])
    out = Path(launch.out)
    if launch.state in ("started", "ended") and await run_in_threadpool((out / LOCK).exists):
        return RedirectResponse(f"/run/{id_of(out)}/watch", 303)
    console = await run_in_threadpool(state.launches.console, launch)
    return frame.render(request, "launch.html", launch=launch, console=console)


async def end(request: Request, form: FormData) -> Response:
    """SIGTERM to the process group, or out of the queue."""
    del form
    state = state_of(request)
    launch_id = request.path_params["launch_id"]
    out = await run_in_threadpool(_ended, state.launches, launch_id)
    return RedirectResponse("/" if out is None else f"/run/{id_of(out)}/watch", 303)


def _ended(launches: Launches, launch_id: str) -> Path | None:
    """Its run's directory, where there is one."""
    launches.end(launch_id)
    out = Path(launches.get(launch_id).out)
    return out if out.is_dir() else None


def _begun(launches: Launches, launch: Launch) -> Launch:
    """Started at once where there is a place."""
    launches.tick()
    return launch


ROUTES = (
    post("/launch", start),
    post("/launch/resume/{run_id}", acting_on_run(again)),
    get("/launch/{launch_id}", show),
    post("/launch/{launch_id}/end", end),
)
