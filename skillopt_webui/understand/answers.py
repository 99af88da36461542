"""Answers that a change turned over, side by side, and any single attempt with its conversation."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from skillopt.core.errors import RunDirError
from skillopt.records.items import image_file
from skillopt.records.reading import Run
from skillopt.views.answers.flips import Side, contests, images_of, one_side, side_by_side
from skillopt.views.measurements import places
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import choice, number, run_of, words

SHOWN = 120


async def show(request: Request, opened: RunPage) -> Response:
    """A comparison's flips, one of them side by side."""
    run = run_of(opened)
    found = await run_in_threadpool(contests, run)
    if not found:
        return frame.render(request, "understand/answers.html", opened=opened, tab="answers", contests=(), seen=None)
    keys = [contest.key for contest in found]
    contest = found[keys.index(choice(request, "contest", keys, keys[0]))]
    at = number(request, "from", most=len(contest.flips))
    flips = contest.flips[at : at + SHOWN]
    item = choice(request, "item", [flip.item for flip in contest.flips], flips[0].item if flips else "")
    seen = await run_in_threadpool(side_by_side, run, contest.key, item) if item else None
    return frame.render(
        request, "understand/answers.html", opened=opened, tab="answers", contests=found, contest=contest, flips=flips,
        at=at, shown=SHOWN, item=item, seen=seen,
    )  # fmt: skip


async def one(request: Request, opened: RunPage) -> Response:
    """One attempt: `?directory=…&item=…`, both as the matrix links to them."""
    run = run_of(opened)
    side, label = await run_in_threadpool(_one, run, words(request, "directory", 400), words(request, "item", 4000))
    return frame.render(request, "understand/attempt.html", opened=opened, tab="answers", side=side, label=label,
                        images=images_of(run, label))  # fmt: skip


def _one(run: Run, directory: str, item: str) -> tuple[Side, str]:
    place = next((p for p in places(run) if p.directory == directory), None)
    if place is None:
        raise RunDirError("the run has no such measurement", hint="choose a cell of the matrix")
    return one_side(run, item, place.label, directory), item


async def image(request: Request, opened: RunPage) -> Response:
    """An image of an item, from the run directory only."""
    found = await run_in_threadpool(image_file, run_of(opened).root, str(request.path_params["name"]))
    if found is None:
        raise RunDirError("the run keeps no such image")
    path, kind = found
    return FileResponse(path, media_type=kind, headers={"cache-control": "private, max-age=86400"})


TAB = Tab("answers", "Answers", show, more=(("/one", one), ("/image/{name}", image)))
