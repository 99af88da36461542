"""Review and delivery: a person's word on each change beside its evidence, the measuring of what that leaves, export.

Measuring is a process of its own (`skillopt review RUN --measure`) that outlives the server. Exports go where agents
look below the server's working directory, or to the browser as an archive; no other place can be named.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal, cast

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from skillopt.api.exporting import AGENTS, Exported, export, undo_export
from skillopt.api.reviewing import decide, review
from skillopt.core.errors import DataError, SkillOptError
from skillopt.records.beside.review import FOLDER, Choice
from skillopt_webui import frame
from skillopt_webui.places import Tab
from skillopt_webui.runs import RunPage
from skillopt_webui.understand.asking import choice, run_of
from skillopt_webui.understand.shelf import shelf_of

LOG = "measure.log"
_CHOICES: tuple[Choice, ...] = ("accept", "refuse", "change")
Which = Literal["best", "reviewed"]


async def show(request: Request, opened: RunPage) -> Response:
    """The changes, and where the review stands."""
    return await _page(request, opened)


async def _page(request: Request, opened: RunPage, *, done: Exported | None = None, to: str = "") -> Response:
    run = run_of(opened)
    try:
        seen, problem = await run_in_threadpool(review, run.root), None
    except SkillOptError as error:
        seen, problem = None, error
    return frame.render(
        request, "understand/review.html", opened=opened, tab="review", seen=seen, problem=problem,
        busy=(seen is not None and seen.busy) or shelf_of(request).measures(run),
        agents=tuple(AGENTS), done=done, to=to, here_directory=str(Path.cwd()), log=_last_line(run.root / FOLDER / LOG),
    )  # fmt: skip


async def decided(request: Request, opened: RunPage, form: FormData) -> Response:
    """One decision, from the form of its change."""
    del request
    name, asked = _text(form, "change"), _text(form, "choice")
    if asked not in _CHOICES:
        raise DataError("choose accept, refuse or change", hint="go back and choose one")
    what: Choice | tuple[Choice, str] = ("change", _text(form, "text")) if asked == "change" else cast("Choice", asked)
    await run_in_threadpool(
        lambda: decide(run_of(opened).root, {name: what}, by=_text(form, "by")[:80], note=_text(form, "note")[:2000])
    )
    return RedirectResponse(f"/run/{opened.id}/review", 303)


async def measured(request: Request, opened: RunPage, form: FormData) -> Response:
    """Start the measuring; what it says goes into a log beside the review."""
    del form
    await run_in_threadpool(shelf_of(request).measure, run_of(opened), _start)
    return RedirectResponse(f"/run/{opened.id}/review", 303)


def _start(root: Path) -> subprocess.Popen[bytes]:
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    with (folder / LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "skillopt", "review", str(root), "--measure"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip


async def exported(request: Request, opened: RunPage, form: FormData) -> Response:
    """Install the skill for an agent, or take that back."""
    to = _text(form, "to")
    if to not in AGENTS:
        raise DataError(f"{to[:40]!r} is no agent that is known here", hint=f"choose {', '.join(AGENTS)}")
    root, which = run_of(opened).root, _which(_text(form, "which"))
    if _text(form, "undo"):
        await run_in_threadpool(lambda: undo_export(to, name=_text(form, "undo")))
        return RedirectResponse(f"/run/{opened.id}/review", 303)
    name, words = _text(form, "name")[:64], _text(form, "description")[:1024]
    done = await run_in_threadpool(lambda: export(_source(root, which), to, name=name, description=words))
    return await _page(request, opened, done=done, to=to)


async def archive(request: Request, opened: RunPage) -> Response:
    """The skill as a package to keep."""
    root, which = run_of(opened).root, _which(choice(request, "which", ("best", "reviewed"), "best"))
    name, words = request.query_params.get("name", "")[:64], request.query_params.get("description", "")[:1024]

    def made() -> tuple[str, bytes]:
        with tempfile.TemporaryDirectory() as place:
            done = export(_source(root, which), Path(place) / "skill.zip", name=name, description=words)
            return done.name, done.path.read_bytes()

    package, content = await run_in_threadpool(made)
    return Response(content, media_type="application/zip",
                    headers={"content-disposition": f'attachment; filename="{package}.zip"'})  # fmt: skip


def _source(root: Path, which: Which) -> str:
    return f"{root}@reviewed" if which == "reviewed" else str(root)


def _which(text: str) -> Which:
    return "reviewed" if text == "reviewed" else "best"


def _text(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value if isinstance(value, str) else ""


def _last_line(path: Path) -> str:
    try:
        lines = path.read_bytes()[-4000:].decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


TAB = Tab(
    "review", "Review", show,
    more=(("/package.zip", archive),),
    more_posts=(("/decide", decided), ("/measure", measured), ("/export", exported)),
)  # fmt: skip
