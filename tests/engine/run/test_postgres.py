"""Shared answers over a real PostgreSQL server: hits across runs, races, and an outage that costs nothing but hits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

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


class Proxy:
    """Between a run and the server: passes bytes on, later, or (`stalled`) keeps them for ever."""

    def __init__(self, to: int, delay_s: float = 0.0) -> None:
        self.to, self.delay_s, self.stalled = to, delay_s, False
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self.to)
        await asyncio.gather(self._pass(reader, forth), self._pass(back, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await asyncio.sleep(self.delay_s)
                if self.stalled:
                    continue
                writer.write(data)
        writer.close()

    async def _tasks(self) -> list[asyncio.Task[Any]]:
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    def close(self) -> None:
        for task in self._do(self._tasks()):
            self._loop.call_soon_threadsafe(task.cancel)
        self._loop.call_soon_threadsafe(self._loop.call_later, 0.1, self._loop.stop)


async def goes_on(run: Run, first: str, trouble: Callable[[], object]) -> None:
    """An answer, the trouble, twenty answers, the end: all are had, one sentence is told, nothing is waited for."""
    assert await run.ask(first) == "so"
    await asyncio.to_thread(trouble)
    for n in range(20):
        assert await run.ask(f"{first} {n}") == "so"
    assert run.journal.count() == 21
    await asyncio.wait_for(asyncio.to_thread(run.journal.close), 60)
    assert len(run.told) == 1, run.told


@pytest.mark.postgres
async def test_a_server_that_says_nothing_any_more_holds_up_no_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection stands, and nothing comes: no timeout of the server's own helps."""
    monkeypatch.setattr("skillopt.store.writer.LAST_S", 0.5)
    proxy = Proxy(server.port)
    run = Run(tmp_path / "a.sqlite", server.url.replace(str(server.port), str(proxy.port)))
    await goes_on(run, "stalled", lambda: setattr(proxy, "stalled", True))
    assert not [each for each in threading.enumerate() if each.name.startswith("skillopt-") and lasts(each)]
    proxy.close()


def lasts(thread: threading.Thread) -> bool:
    thread.join(30)
    return thread.is_alive()


@pytest.mark.postgres
async def test_a_slow_way_is_given_up(server: Server, tmp_path: Path) -> None:
    proxy = Proxy(server.port)
    run = Run(tmp_path / "a.sqlite", server.url.replace(str(server.port), str(proxy.port)))
    await goes_on(run, "slow", lambda: setattr(proxy, "delay_s", 0.3))
    assert "takes longer than 50 ms" in run.told[0]
    proxy.close()


def sql(server: Server, *statements: str) -> None:
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'guest'"


@pytest.fixture
def guest(server: Server) -> Iterator[str]:
    """The address of a role that comes in with a password."""
    rules = server.root / "db" / "pg_hba.conf"
    before = rules.read_text()
    sql(server, "CREATE ROLE guest LOGIN PASSWORD 'first-word-1'", "GRANT ALL ON SCHEMA public TO guest",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO guest")  # fmt: skip
    rules.write_text("host all guest all scram-sha-256\n" + before)
    sql(server, "SELECT pg_reload_conf()")
    yield f"postgresql://guest:first-word-1@127.0.0.1:{server.port}/postgres"
    rules.write_text(before)
    sql(server, CUT, "SELECT pg_reload_conf()", "DROP OWNED BY guest", "DROP ROLE guest")


TROUBLE = {
    "the password was changed": ["ALTER ROLE guest PASSWORD 'second-word-2'", CUT],
    "no connection is left": ["ALTER ROLE guest CONNECTION LIMIT 0", CUT],
    "it may read only": ["REVOKE INSERT ON skillopt_entries FROM guest"],
    "the disk is full": [
        "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER no_room BEFORE INSERT ON skillopt_entries EXECUTE FUNCTION full_disk()",
    ],
    "the table is gone": ["ALTER TABLE skillopt_entries RENAME TO elsewhere"],
}


@pytest.mark.postgres
@pytest.mark.parametrize("what", TROUBLE)
async def test_trouble_in_the_middle_costs_nothing_but_hits(
    server: Server, guest: str, tmp_path: Path, what: str
) -> None:
    Postgres(server.url).connect().close()
    sql(server, "GRANT ALL ON skillopt_entries TO guest")
    run = Run(tmp_path / "a.sqlite", guest)
    try:
        await goes_on(run, what, lambda: sql(server, *TROUBLE[what]))
        assert "any more" in run.told[0] and "first-word-1" not in run.told[0]
        late = Run(tmp_path / "b.sqlite", guest)  # and one that begins then
        assert await late.ask(f"{what}, late") == "so"
        await late.journal.aclose()
        assert len(late.told) <= 1 and late.paid == 1
    finally:
        sql(server, "DROP TRIGGER IF EXISTS no_room ON skillopt_entries" if "disk" in what else "SELECT 1",
            "DROP TABLE IF EXISTS elsewhere")  # fmt: skip


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
