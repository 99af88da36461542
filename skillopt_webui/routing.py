"""How an address becomes a page. A request that acts goes through `post`, which checks its form token first."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from skillopt_webui.guard import csrf_of, same
from skillopt_webui.places import Acting, Handler, Page, RunActing, RunHandler, Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.state import state_of

__all__ = ["OLD_FORM", "Page", "Tab", "acting_on_run", "get", "of_run", "post", "routes_of"]

OLD_FORM = "refused: the form is older than the server; load the page again\n"


def get(path: str, handler: Handler) -> Route:
    """A page that only shows."""
    return Route(path, handler, methods=["GET"])


def post(path: str, handler: Acting) -> Route:
    """Something that acts, from a form or a script of our own pages."""

    async def checked(request: Request) -> Response:
        async with request.form(max_files=8, max_fields=2000, max_part_size=2**20) as form:
            given = request.headers.get("x-csrf-token") or str(form.get("_form", ""))
            if not same(given, csrf_of(request, state_of(request).settings)):
                return PlainTextResponse(OLD_FORM, 403)
            return await handler(request, form)

    return Route(path, checked, methods=["POST"])


def of_run(handler: RunHandler) -> Handler:
    """A handler that gets the run of the address, opened now."""

    async def opened(request: Request) -> Response:
        return await handler(request, await _opened(request))

    return opened


def acting_on_run(handler: RunActing) -> Acting:
    """The same of what acts."""

    async def opened(request: Request, form: FormData) -> Response:
        return await handler(request, await _opened(request), form)

    return opened


def routes_of(tab: Tab) -> list[Route]:
    """All addresses of a tab."""
    base = f"/run/{{run_id}}/{tab.slug}"
    return [
        get(base, of_run(tab.show)),
        *(get(base + path, of_run(handler)) for path, handler in tab.more),
        *(post(base + path, acting_on_run(handler)) for path, handler in tab.more_posts),
    ]


async def _opened(request: Request) -> RunPage:
    runs = state_of(request).runs
    return await run_in_threadpool(runs.open, request.path_params["run_id"])
