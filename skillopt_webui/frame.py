"""The frame of every page: templates, what all of them are given, and pages for what went wrong.

Templates escape everything, show no control character (`skillopt.views.drawn.filters`), and fail on a name that is
not given.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from skillopt import __version__
from skillopt.core.errors import RunDirError, SkillOptError
from skillopt.views.drawn.filters import FILTERS, shown
from skillopt.views.drawn.page import TEMPLATES
from skillopt_webui.filters import OURS
from skillopt_webui.guard import csrf_of
from skillopt_webui.places import Page
from skillopt_webui.runs import RunPage
from skillopt_webui.state import State, state_of

HERE = Path(__file__).parent
_log = logging.getLogger("skillopt.webui")


def render(request: Request, template: str, /, *, status: int = 200, **values: object) -> Response:
    """A page. Besides `values` a template has what `text` puts there: `csrf()`, `read_only`, `pages`, `tabs`, …"""
    return HTMLResponse(text(request, template, **values), status)


def text(request: Request, template: str, /, **values: object) -> str:
    """The same as text."""
    state = state_of(request)
    token = csrf_of(request, state.settings)
    field = Markup('<input type="hidden" name="_form" value="{}">').format(token)
    return environment().get_template(template).render(
        csrf=lambda: field, csrf_token=token, read_only=state.settings.read_only, pages=_pages(state), tabs=state.tabs,
        mark=_mark(state, values), here=request.url.path, version=__version__, **values,
    )  # fmt: skip


def _pages(state: State) -> list[Page]:
    """The navigation."""
    return [page for page in state.pages if page.path != "/nights" or state.settings.nights]


def _mark(state: State, values: Mapping[str, object]) -> str:
    """What a page of a run is made from, so that what happens before it listens is not missed."""
    opened = values.get("opened")
    return state.feeds.mark(opened.path) if isinstance(opened, RunPage) else ""


def failed(request: Request, error: SkillOptError) -> Response:
    """A page for an error that the user can correct."""
    status = 404 if isinstance(error, RunDirError) else 400
    return render(request, "error.html", status=status, title="This does not work", message=error.message,
                  hint=error.hint or "", back=_back(request))  # fmt: skip


def _back(request: Request) -> tuple[str, str]:
    """Where what went wrong can be put right: an address and its words."""
    if request.url.path == "/new/plan" and request.method == "GET":
        return f"/new/configure?{request.url.query}", "Change values"
    return ("/new", "Choose a configuration") if request.url.path.startswith("/new") else ("/", "All runs")


async def on_error(request: Request, error: Exception) -> Response:
    """Starlette's handler for `SkillOptError`."""
    if not isinstance(error, SkillOptError):
        raise error
    return failed(request, error)


async def on_missing(request: Request, error: Exception) -> Response:
    """A page for an address that is none."""
    del error
    return render(request, "error.html", status=404, title="Nothing here", message="There is no such page.",
                  hint="The list of runs is a good place to go on from.", back=("/", "All runs"))  # fmt: skip


async def on_fault(request: Request, error: Exception) -> Response:
    """A fault of ours: its traceback goes to the server's log, the page says that there was one."""
    _log.error("fault at %s", request.url.path, exc_info=error)
    return render(request, "error.html", status=500, title="A fault of the dashboard",
                  message=f"{type(error).__name__} while this page was made; the server's output has the details.",
                  hint="The run itself is not touched by it.", back=("/", "All runs"))  # fmt: skip


@cache
def environment() -> Environment:
    """The templates."""
    made = Environment(
        loader=FileSystemLoader([HERE / "templates", TEMPLATES]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=shown,
    )  # fmt: skip
    for name, function in {**FILTERS, **OURS}.items():
        made.filters[name] = function  # pyright: ignore[reportUnknownMemberType]
    return made
