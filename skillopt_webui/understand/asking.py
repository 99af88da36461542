"""Arguments of an address: whole numbers and choices, with what is no good put right rather than refused."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from skillopt.core.errors import RunDirError
from skillopt.records.reading import Run
from skillopt_webui.runs import RunPage


def number(request: Request, name: str, default: int = 0, *, most: int = 10**9) -> int:
    """A whole number of an address, between 0 and `most`."""
    text = request.query_params.get(name, "")
    return min(most, int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else default


def choice(request: Request, name: str, known: Sequence[str], default: str) -> str:
    """One of the known words."""
    text = request.query_params.get(name, "")
    return text if text in known else default


def words(request: Request, name: str, most: int = 200) -> str:
    """Some words, cut."""
    return request.query_params.get(name, "")[:most]


def run_of(opened: RunPage) -> Run:
    """The run's records. Raises `RunDirError` while there are none."""
    if opened.run is None:
        raise RunDirError("this run has not written anything yet", hint="it has just begun; look at Watch")
    return opened.run
