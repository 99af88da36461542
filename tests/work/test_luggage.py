"""Programs on a machine that has another file system: their directory goes along and comes back."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from base64 import b64encode
from pathlib import Path

import pytest

from skillopt.core.json_types import JsonObject
from skillopt.harnesses.launch import Launch
from skillopt.work.errors import WorkerLost
from skillopt.work.inline import InlineExecutor
from skillopt.work.luggage import pack, unpack
from skillopt.work.programs import run_program
from skillopt.work.unit import Needs, Work


class Elsewhere(InlineExecutor):
    """A machine where the driver's directory is not there."""

    apart = True

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._place = place

    async def run(self, work: Work) -> JsonObject:
        aside = self._place.with_name("the-drivers")
        self._place.rename(aside)
        try:
            return await super().run(work)
        finally:
            assert not self._place.exists(), "the worker left something behind"
            aside.rename(self._place)


def launch(place: Path, code: str) -> Launch:
    return Launch((sys.executable, "-c", code), {"PATH": os.environ["PATH"]}, place / "work")


MAKES = "import os, pathlib; print(open('given').read()); os.remove('given'); pathlib.Path('made').write_text('new')"


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_program_finds_its_files_and_what_it_made_comes_back(tmp_path: Path, elsewhere: bool) -> None:
    place = tmp_path / "place"
    (place / "work").mkdir(parents=True)
    (place / "work" / "given").write_text("hello")
    executor = Elsewhere(place) if elsewhere else InlineExecutor()
    if not elsewhere:
        executor.apart = True  # it says so, and sees the same directory all the same
    done = await run_program(executor, launch(place, MAKES), place / "streams", needs=Needs(), seconds=60)
    assert (done.exit_code, done.stdout.strip()) == (0, "hello")
    assert sorted(p.name for p in (place / "work").iterdir()) == ["made"]
    assert (place / "work" / "made").read_text() == "new"
    assert not list(place.glob(".here-*"))


async def test_a_program_is_found_by_its_name_where_its_path_is_the_drivers(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "work").mkdir(parents=True)
    there = Launch(("/opt/of/the/driver/sh", "-c", "echo here"), {"PATH": "/nowhere"}, place / "work")
    done = await run_program(Elsewhere(place), there, place / "streams", needs=Needs(), seconds=60)
    assert done.stdout == "here\n"


async def test_a_program_that_is_nowhere_is_an_os_error(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "work").mkdir(parents=True)
    there = Launch(("/opt/no-such-agent",), {"PATH": "/nowhere"}, place / "work")
    with pytest.raises(FileNotFoundError):
        await run_program(Elsewhere(place), there, place / "streams", needs=Needs(), seconds=60)


def test_what_is_packed_arrives(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "a" / "empty").mkdir(parents=True)
    (one / "a" / "run.sh").write_text("#!/bin/sh")
    (one / "a" / "run.sh").chmod(0o755)
    (one / "ä.txt").write_bytes(bytes(range(256)))
    (one / "link").symlink_to("a/run.sh")
    (one / "out").symlink_to("/etc/passwd")
    (one / "up").symlink_to("../two")
    (one / "a" / "beside").symlink_to("../ä.txt")
    os.link(one / "ä.txt", one / "a" / "second name")
    (two / "old").mkdir(parents=True)
    unpack(pack(one), two)
    found = sorted(p.relative_to(two).as_posix() for p in two.rglob("*"))
    assert found == ["a", "a/beside", "a/empty", "a/run.sh", "a/second name", "link", "ä.txt"]
    assert (two / "a" / "second name").read_bytes() == (two / "a" / "beside").read_bytes() == bytes(range(256))
    assert (two / "ä.txt").read_bytes() == bytes(range(256))
    assert os.access(two / "link", os.X_OK) and not os.access(two / "ä.txt", os.X_OK)


def archive(*members: tuple[str, str]) -> str:
    """Names with a link's target each, or blank for a file."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as out:
        for name, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = (tarfile.SYMTYPE, link, 0) if link else (tarfile.REGTYPE, "", 1)
            out.addfile(info, io.BytesIO(b"x"))
    return b64encode(whole.getvalue()).decode()


@pytest.mark.parametrize("name", ["../out", "/tmp/out-of-it", "a/../../out"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        unpack(archive((name, "")), tmp_path / "in")


@pytest.mark.parametrize(
    "links",
    [
        [("door", "../outside")],
        [("door", "a/../../outside")],
        [("here", "."), ("door", "here/../outside")],
        [("deep/here", ".."), ("door", "deep/here/../outside")],
    ],
)
def test_a_link_that_leads_out_is_left_out_and_not_followed(tmp_path: Path, links: list[tuple[str, str]]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "outside").mkdir()
    unpack(archive(*links, ("door/file", "")), tmp_path / "in")
    assert not list((tmp_path / "outside").iterdir())
    assert not (tmp_path / "in" / "door").is_symlink()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leads out"):
        unpack(archive(("here", "."), ("here/door", "../outside")), tmp_path / "in")


async def test_a_lost_worker_leaves_no_mark_in_the_directory(tmp_path: Path) -> None:
    class Losing(InlineExecutor):
        apart = True

        async def run(self, work: Work) -> JsonObject:
            raise WorkerLost("worker lost")

    place = tmp_path / "place"
    (place / "work").mkdir(parents=True)
    with pytest.raises(WorkerLost):
        await run_program(Losing(), launch(place, MAKES), place / "streams", needs=Needs(), seconds=60)
    assert not list(place.glob(".here-*"))


def test_what_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillopt.work.luggage.MOST_BYTES", 10)
    (tmp_path / "big").write_bytes(b"x" * 11)
    with pytest.raises(ValueError, match="too much to send"):
        pack(tmp_path)
    shutil.rmtree(tmp_path)
