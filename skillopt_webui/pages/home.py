"""The list of runs, and what is queued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from skillopt_webui import frame
from skillopt_webui.runs import id_of
from skillopt_webui.state import State, state_of
from skillopt_webui.watch.feed import message, stream

LOOK_S = 2.0


async def show(request: Request) -> Response:
    """Every run under the roots, and launches that have no run yet."""
    state = state_of(request)
    rows = await run_in_threadpool(state.runs.rows)
    launches = await run_in_threadpool(state.launches.all)
    listed = {run_id for run_id, _ in rows}
    waiting = [
        each for each in launches
        if each.state in ("queued", "failed") or (each.state == "started" and id_of(Path(each.out)) not in listed)
    ]  # fmt: skip
    return frame.render(request, "home.html", rows=rows, roots=state.runs.roots, waiting=waiting[-20:], id_of=id_of)


async def live(request: Request) -> Response:
    """Says when the list has changed."""
    return stream(_changes(state_of(request)))


async def _changes(state: State) -> AsyncGenerator[str, None]:
    known: object = None
    yield "retry: 2000\n\n"
    while True:
        found = await run_in_threadpool(_summary, state)
        if known is not None and found != known:
            yield message("changed", "list")
        elif known is not None:
            yield ": alive\n\n"
        known = found
        await asyncio.sleep(LOOK_S)


def _summary(state: State) -> object:
    rows = [replace(row, changed=0.0) for _, row in state.runs.rows()]
    return rows, [(each.id, each.state) for each in state.launches.all()]
