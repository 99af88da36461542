"""What the server holds besides its settings: the runs that it knows, who watches them, what it has started."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from skillopt_webui.launch.files import ConfigFiles
from skillopt_webui.launch.queue import Launches
from skillopt_webui.places import Page, Tab
from skillopt_webui.runs import Runs
from skillopt_webui.settings import Settings
from skillopt_webui.watch.feed import Feeds


@dataclass(frozen=True)
class State:
    """One per server, at `app.state.ui`."""

    settings: Settings
    runs: Runs
    pages: tuple[Page, ...]
    tabs: tuple[Tab, ...]
    feeds: Feeds
    launches: Launches
    files: ConfigFiles


def state_of(request: Request) -> State:
    """The server's state."""
    state: State = request.app.state.ui
    return state
