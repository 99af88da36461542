"""Shared answers over a real PostgreSQL server: hits across runs, races, and an outage that costs nothing but hits."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError, JournalError
from skillopt.engine.run.postgres import Postgres, is_postgres
from skillopt.store.journal import Journal, Recorded
from skillopt.testing.rig import reserved_port

pytest.importorskip("psycopg")
PROGRAM = shutil.which("postgres")


class Server:
    """One server of our own on a port of this machine."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.port = root, port
        self.url = f"postgresql://tester@127.0.0.1:{port}/postgres"
        self._as: dict[str, int] = {}
        if os.getuid() == 0:  # the server refuses root
            nobody = pwd.getpwnam("nobody")
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid}
            os.chown(root, nobody.pw_uid, nobody.pw_gid)
        self._run("initdb", "-D", str(root / "db"), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        where = shutil.which(program)
        assert where
        subprocess.run([where, *arguments], check=True, capture_output=True, cwd=self.root, **self._as)  # type: ignore[call-overload]

    def start(self) -> None:
        assert PROGRAM
        settings = ["-F", "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.root}"]
        self._process = subprocess.Popen(
            [PROGRAM, "-D", str(self.root / "db"), "-p", str(self.port), *settings],
            cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._as,  # type: ignore[call-overload]
        )  # fmt: skip
        until = time.monotonic() + 60
        while True:
            try:
                Postgres(self.url).connect().close()
                return
            except JournalError:
                assert time.monotonic() < until and self._process.poll() is None
                time.sleep(0.05)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # at once, whoever is connected
        self._process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if PROGRAM is None or shutil.which("initdb") is None:
        pytest.skip("no PostgreSQL server on this machine")
    with tempfile.TemporaryDirectory(prefix="skillopt-pg-", dir="/tmp") as root, reserved_port() as port:
        one = Server(Path(root), port)
        yield one
        one.stop()


def answer(text: str) -> Recorded:
    return Recorded(
        value={"text": text, "odd": "\ud800 \x00"}, kind="chat", stage="gate", role="target", model="m", usd=0.5
    )


class Run:
    """A journal with the server behind it."""

    def __init__(self, path: Path, url: str) -> None:
        self.told: list[str] = []
        self.paid = 0
        self.journal = Journal.open(path, shared=Postgres(url), on_shared_problem=self.told.append)

    async def ask(self, key: str, text: str = "so") -> str:
        async def thunk() -> Recorded:
            self.paid += 1
            return answer(text)

        return (await self.journal.once(key, thunk)).value["text"]


@pytest.mark.postgres
async def test_what_one_run_has_paid_another_has_for_nothing(server: Server, tmp_path: Path) -> None:
    one = Run(tmp_path / "a.sqlite", server.url)
    await asyncio.gather(*(one.ask(f"key {n}", f"answer {n}") for n in range(200)))
    await one.journal.aclose()
    assert (one.paid, one.told) == (200, [])
    two = Run(tmp_path / "b.sqlite", server.url)
    found = await asyncio.gather(*(two.ask(f"key {n}", "another") for n in range(201)))
    assert found == [f"answer {n}" for n in range(200)] + ["another"]
    assert (two.paid, two.told) == (1, [])
    (row,) = two.journal.ledger()
    assert (row.calls, row.shared, row.usd) == (1, 200, 0.5), "copies cost this run nothing"
    await two.journal.aclose()
    third = Run(tmp_path / "c.sqlite", server.url)
    assert await third.ask("key 0") == "answer 0"
    await third.journal.aclose()


@pytest.mark.postgres
async def test_a_server_that_goes_away_costs_nothing_but_hits(server: Server, tmp_path: Path) -> None:
    run = Run(tmp_path / "a.sqlite", server.url)
    await run.ask("before")
    server.stop()
    try:
        assert await asyncio.gather(*(run.ask(f"during {n}") for n in range(50))) == ["so"] * 50
        assert run.journal.count() == 51
        assert len(run.told) == 1 and "any more" in run.told[0]
        await run.journal.aclose()
        absent = Run(tmp_path / "b.sqlite", server.url)
        assert await absent.ask("x") == "so"
        await absent.journal.aclose()
        assert len(absent.told) == 1
    finally:
        server.start()


@pytest.mark.postgres
async def test_a_server_that_does_not_answer_is_given_up(server: Server, tmp_path: Path) -> None:
    import psycopg

    run = Run(tmp_path / "a.sqlite", server.url)
    await run.ask("first")
    with psycopg.connect(server.url) as holder:  # whoever asks waits for this lock
        holder.execute("LOCK TABLE skillopt_entries IN ACCESS EXCLUSIVE MODE")
        for n in range(5):
            assert await run.ask(f"locked {n}") == "so"
    assert run.paid == 6 and any("takes longer" in line for line in run.told), run.told
    await run.journal.aclose()


def test_an_address_is_checked_and_hides_its_password() -> None:
    assert is_postgres("postgres://h/d") and not is_postgres("/home/a/postgresql")
    where = Postgres("postgresql://me:s3cr%40t@db.example:5433/answers")
    assert where.name == "postgresql://db.example:5433/answers"
    assert where.secrets == ("s3cr%40t", "s3cr@t")
    with pytest.raises(ConfigError, match="names no database"):
        Postgres("postgresql://db.example")


async def test_an_address_where_nobody_is(tmp_path: Path) -> None:
    with reserved_port() as port:
        run = Run(tmp_path / "a.sqlite", f"postgresql://me:hunter2-hunter2@127.0.0.1:{port}/x")
        assert await run.ask("x") == "so" and await run.ask("y") == "so"
        await run.journal.aclose()
    assert len(run.told) == 1 and "hunter2" not in run.told[0] and f"127.0.0.1:{port}/x" in run.told[0]
