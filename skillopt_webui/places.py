"""What the dashboard is made of: pages of their own, and the views of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from skillopt_webui.runs import RunPage

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Acting: TypeAlias = Callable[[Request, FormData], Awaitable[Response]]
RunHandler: TypeAlias = Callable[[Request, RunPage], Awaitable[Response]]
RunActing: TypeAlias = Callable[[Request, RunPage, FormData], Awaitable[Response]]


@dataclass(frozen=True)
class Tab:
    """One view of a run, at `/run/{id}/{slug}`. `more` are pages below it, `more_posts` what can be done there: a path
    (with Starlette's `{name}` or `{name:path}`) and its handler."""

    slug: str
    title: str
    show: RunHandler
    more: tuple[tuple[str, RunHandler], ...] = ()
    more_posts: tuple[tuple[str, RunActing], ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of its own, shown in the navigation of every page."""

    path: str
    title: str
    show: Handler
