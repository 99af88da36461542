"""A new run: choose a configuration, change what is to be changed, see the plan and the checks, start it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from skillopt.api.checking import Check, answer_checks, free_checks
from skillopt.api.given.configuring import Resolved, configuration
from skillopt.api.given.keys import FRONT, ShownKey, problem_of, shown_keys
from skillopt.api.given.prompts import ShownMessage, first_prompt
from skillopt.api.runs.training import Plan, prepare
from skillopt.api.shown.power import seen, shows
from skillopt.core.redact import environment_secrets, redact
from skillopt_webui import frame
from skillopt_webui.launch.changes import FIX, Sorted, changes_of, sort_out, told
from skillopt_webui.launch.files import ConfigFile
from skillopt_webui.routing import get, post
from skillopt_webui.state import state_of

_FIELD = "key:"


@dataclass(frozen=True)
class Forecast:
    """What a plan page shows: the plan, what was noticed, checks, and the first prompt."""

    plan: Plan
    notices: tuple[str, ...]
    checks: tuple[Check, ...]
    prompt: tuple[ShownMessage, ...]
    test_words: str
    selection_words: str

    @property
    def refused(self) -> tuple[str, ...]:
        """Why it cannot start."""
        return (*self.plan.refusals, *(c.found for c in self.checks if c.state == "failed"))


async def show(request: Request) -> Response:
    """All configurations."""
    files = await run_in_threadpool(state_of(request).files.all)
    groups: dict[str, list[ConfigFile]] = {}
    for each in files:
        groups.setdefault(each.group, []).append(each)
    return frame.render(request, "new/choose.html", groups=groups)


async def configure(request: Request) -> Response:
    """One configuration as controls: the values it comes to, where each comes from, what can be changed."""
    file = await _file(request)
    found = await run_in_threadpool(sort_out, request.query_params.getlist("set"))
    if found.left_out:
        return _without(file, found)
    changed = list(found.kept)
    resolved = await run_in_threadpool(configuration, file.path, [*file.base, *changed])
    keys = shown_keys(resolved)
    left_out = request.query_params.getlist("left_out")[:20]
    known = {*(key.path for key in keys), *(key.name for key in keys)}
    front = sorted((k for k in keys if k.path in FRONT), key=lambda k: list(FRONT).index(k.path))
    sections: dict[str, list[ShownKey]] = {}
    for key in keys:
        if key.path not in FRONT:
            sections.setdefault(key.section, []).append(key)
    return frame.render(
        request, "new/configure.html", file=file, front=front, sections=sections, notices=resolved.notices,
        changed=changed, refused=[told(name if name in known else "") for name in left_out], fix=FIX,
        places=partial(_shown_place, file), changed_keys={c.partition("=")[0] for c in changed},
    )  # fmt: skip


async def chosen(request: Request, form: FormData) -> Response:
    """The form of `configure`: only what differs from what was shown goes on."""
    file = await run_in_threadpool(state_of(request).files.named, str(form.get("file", "")))
    before = await run_in_threadpool(changes_of, form)
    resolved = await run_in_threadpool(configuration, file.path, [*file.base, *before])
    moved = moved_values(form, shown_keys(resolved))
    names = {text.partition("=")[0] for text in moved}
    kept = [text for text in before if text.partition("=")[0] not in names]
    return RedirectResponse("/new/plan?" + _query(file, [*kept, *moved]), 303)


def moved_values(form: FormData, keys: Sequence[ShownKey]) -> list[str]:
    """`key=value` for each control whose value is not the one that was shown, which has lost what looks like a key."""
    found: list[str] = []
    hidden = environment_secrets(os.environ)
    for key in keys:
        given = form.get(f"{_FIELD}{key.path}")
        if isinstance(given, str) and key.kind != "secret":
            text = given.replace("\r\n", "\n")
            if text.strip() not in (key.value.strip(), redact(key.value, hidden).strip()):
                found.append(f"{key.path}={text}")
    return found


async def check(request: Request, form: FormData) -> Response:
    """What is wrong with one value as it stands among the others, in the words that the command line has for it."""
    file = await run_in_threadpool(state_of(request).files.named, str(form.get("file", "")))
    found = await run_in_threadpool(sort_out, (str(value) for value in form.getlist("set")))
    if found.left_out:
        return JSONResponse({"problem": f"{told(found.left_out[0])}; {FIX}"})
    return JSONResponse({"problem": await run_in_threadpool(problem_of, file.path, [*file.base, *found.kept])})


async def plan(request: Request) -> Response:
    """What it will take and what it can show, before anything is spent."""
    file = await _file(request)
    given = await run_in_threadpool(sort_out, request.query_params.getlist("set"))
    if given.left_out:
        return _without(file, given)
    sets = list(given.kept)
    resolved = await run_in_threadpool(configuration, file.path, [*file.base, *sets])
    forecast = await run_in_threadpool(_forecast, resolved)
    name = f"{resolved.config.env.name.rpartition(':')[2]}-{time.strftime('%Y%m%d-%H%M%S')}"
    return frame.render(
        request, "new/plan.html", file=file, sets=sets, query=_query(file, sets), found=forecast, name=name,
        caps=resolved.config.budget, asked=None,
    )  # fmt: skip


async def ask(request: Request, form: FormData) -> Response:
    """One small call to each role's model, as `doctor` makes it."""
    file = await run_in_threadpool(state_of(request).files.named, str(form.get("file", "")))
    sets = await run_in_threadpool(changes_of, form)
    resolved = await run_in_threadpool(configuration, file.path, [*file.base, *sets])
    checks = [found async for found in answer_checks(resolved)]
    return frame.render(request, "new/checks.html", file=file, query=_query(file, sets), checks=checks)


def _forecast(resolved: Resolved) -> Forecast:
    """Blocking: reads the data, asks no model."""
    checks = tuple(free_checks(resolved))
    training = prepare(resolved)
    return Forecast(
        training.plan, training.notices, checks, first_prompt(training), shows(training.plan.test_gain),
        seen(training.plan.selection_gain),
    )  # fmt: skip


def _without(file: ConfigFile, found: Sorted) -> Response:
    """The same configuration at an address that holds no secret; the browser keeps that one only."""
    names = [("left_out", name) for name in dict.fromkeys(found.left_out)]
    return RedirectResponse(f"/new/configure?{_query(file, found.kept)}&{urlencode(names)}", 303)


async def _file(request: Request) -> ConfigFile:
    return await run_in_threadpool(state_of(request).files.named, request.query_params.get("file", ""))


def _shown_place(file: ConfigFile, origin: str) -> str:
    """Where a value comes from, as a file is called in the list: not by its place on this machine."""
    found = re.fullmatch(r"(.+):(\d+.*)", origin)
    if found is None or not os.path.isabs(found[1]):
        return origin
    place, line = found[1], found[2]
    root = file.path.parents[len(Path(file.name).parts) - 2]
    real = Path(os.path.normpath(place))
    return f"{root.name}/{real.relative_to(root)}:{line}" if real.is_relative_to(root) else f"{real.name}:{line}"


def _query(file: ConfigFile, sets: Sequence[str]) -> str:
    return urlencode([("file", file.name), *(("set", text) for text in sets)])


ROUTES = (
    get("/new/configure", configure),
    post("/new/configure", chosen),
    post("/new/check", check),
    get("/new/plan", plan),
    post("/new/ask", ask),
)
