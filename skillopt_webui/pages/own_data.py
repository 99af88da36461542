"""Your own tasks: a file by upload or by its place on this machine becomes a project, through the code of `init`."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from skillopt.api.given.configuring import configuration
from skillopt.api.given.prompts import ShownMessage, first_prompt
from skillopt.api.project.projects import Project, ProjectRequest, make_project
from skillopt.api.runs.training import prepare
from skillopt.api.shown.power import detectable_gain, proves, shows
from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt_webui import frame
from skillopt_webui.launch.files import ConfigFile
from skillopt_webui.routing import get, post
from skillopt_webui.settings import Settings
from skillopt_webui.state import State, state_of

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_PACKED = 4
_KINDS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
FIELDS = ("name", "path", "answer", "scorer", "ratio", "backend")
BACKENDS = ("local", "openai", "openai_compatible", "claude_chat", "scripted")


async def show(request: Request) -> Response:
    """The form."""
    return _form(request, dict.fromkeys(FIELDS, ""), "", "")


async def make(request: Request, form: FormData) -> Response:
    """Make the project; what is wrong stands above the form, filled in as it was."""
    given = {name: str(form.get(name, "")).strip() for name in FIELDS}
    upload = form.get("file")
    state = state_of(request)
    place = ""
    try:
        with tempfile.TemporaryDirectory(prefix="skillopt-upload-") as place:
            file = await run_in_threadpool(_data_file, state.settings, upload, given["path"], Path(place))
            made = await run_in_threadpool(_made, state, given, file)
    except SkillOptError as error:
        return _form(request, given, *(text.replace(f"{place}/", "") for text in (error.message, error.hint or "")))
    name = f"{state.settings.projects.name}/{given['name']}/config.yaml"
    prompt, problem = await run_in_threadpool(_prompt, state, name)
    return frame.render(
        request, "new/own_made.html", made=made, name=name, prompt=prompt, problem=problem,
        selection_words=proves(made.selection), test_words=shows(detectable_gain(made.test)),
    )  # fmt: skip


def _form(request: Request, given: dict[str, str], problem: str, hint: str) -> Response:
    data = state_of(request).settings.data
    return frame.render(
        request, "new/own.html", status=400 if problem else 200, given=given, problem=problem, hint=hint,
        backends=BACKENDS, data=data,
    )  # fmt: skip


def _data_file(settings: Settings, upload: object, path: str, place: Path) -> Path | None:
    """The file of the form; None for the sample. Raises `DataError` for one that may not be read."""
    if isinstance(upload, UploadFile) and upload.filename:
        name = (
            re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(upload.filename).name).lstrip(".")[-80:] or "items.jsonl"
        )  # the end, with its kind
        if Path(name).suffix.lower() not in _KINDS:
            raise DataError(f"{name}: not a file of items", hint="upload JSON, JSONL, CSV, TSV or Parquet")
        if upload.size is not None and upload.size > settings.max_upload:
            raise DataError(f"{name}: larger than {settings.max_upload // 2**20} MB", hint="name its path instead")
        _keep(upload.file, place / name, settings.max_upload)
        return place / name
    if not path:
        return None
    try:
        real = Path(os.path.realpath(path))
    except ValueError:  # a character that no path holds
        raise DataError("this is no path of a file") from None
    if not any(real.is_relative_to(root.resolve()) for root in settings.data):
        places = ", ".join(map(str, settings.data))
        raise DataError("this path is not in a directory of data", hint=f"put the file into {places}, or upload it")
    if not os.path.isfile(real):  # a pipe or a device would be read for ever
        raise DataError(f"{path[:200]}: no such file", hint="name one file of items, or upload it")
    return real


def _keep(given: BinaryIO, place: Path, most: int) -> None:
    """Write an upload down, unpacked; a packed one may hold four times what may be uploaded. Raises `DataError`."""
    packed = given.read(2) == b"\x1f\x8b"
    given.seek(0)
    room = _PACKED * most
    try:
        with gzip.open(given) if packed else nullcontext(given) as source, place.open("wb") as stream:
            while room > 0 and (block := source.read(min(room, 2**20))):
                room -= stream.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{place.name}: cannot be unpacked", hint="upload it as plain text") from None
    if room <= 0:
        raise DataError(f"{place.name}: unpacked it is larger than {_PACKED * most // 2**20} MB",
                        hint="put it into a directory of data and name its path")  # fmt: skip


def _made(state: State, given: dict[str, str], file: Path | None) -> Project:
    if not _NAME.fullmatch(given["name"]):
        raise ConfigError("the project needs a name", hint="small letters, digits, - and _; at most 50")
    if given["backend"] not in BACKENDS:
        raise ConfigError(f"{given['backend'][:40]}: no backend of this form")
    if ":" in given["scorer"]:
        raise ConfigError("a scorer of one's own is code, which no page may name", hint="use skillopt init")
    return make_project(
        ProjectRequest(
            state.settings.projects / given["name"],
            file,
            given["scorer"],
            given["answer"],
            given["ratio"],
            given["backend"],
        )
    )


def _prompt(state: State, name: str) -> tuple[tuple[ShownMessage, ...], str]:
    """The first item as the target will read it. A project that cannot show one says why."""
    file: ConfigFile = state.files.named(name)
    try:
        return first_prompt(prepare(configuration(file.path, list(file.base)))), ""
    except SkillOptError as error:
        return (), str(error)


ROUTES = (get("/new/data", show), post("/new/data", make))
