"""The engine's life and the local backend on it: a stand-in engine in a real child process, then the real model."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.model.local.backend import LocalBackend, create
from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.cores import usable_cores
from skillopt.model.local.modelfile import ModelFile, cache_directory, find_present
from skillopt.model.local.pool import EngineLease, EnginePool
from skillopt.model.local.prefix import PrefixStates
from skillopt.model.local.server import Engine, running
from skillopt.model.local.settings import EngineSettings
from skillopt.model.types import ChatRequest, Message

FAKE = Path(__file__).parent / "fake_engine"
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


class Stage:
    """A stand-in engine on the path, a model file for it, and the log of its requests."""

    def __init__(self, folder: Path) -> None:
        self.log, self.path = folder / "engine.jsonl", folder / "tiny.gguf"
        self.path.write_bytes(b"GGUF fine")
        self.model = ModelFile("tiny", self.path, "00", 9)

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def paths(self) -> list[str]:
        return [entry["path"].replace("/slots/0?action=", "") for entry in self.requests()]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage(tmp_path)
    monkeypatch.syspath_prepend(str(FAKE))
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(made.log))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("SKILLOPT_MODEL_FILE", raising=False)
    return made


def gone(pid: int, seconds: float = 30.0) -> bool:
    """Whether the process ends in time; a zombie of somebody else's counts as ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


async def noticed(lease: EngineLease, seconds: float = 60.0) -> TransientModelError | None:
    """What the lease says once the child's end has been noticed."""
    until = time.monotonic() + seconds
    while (lost := lease.lost()) is None and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return lost


def asking(text: str = "21 + 21?", system: str = "", **rest: Any) -> ChatRequest:
    messages = (*((Message("system", system),) if system else ()), Message("user", text))
    return ChatRequest(messages=messages, stage="test", max_completion_tokens=16, **rest)


# -- life --------------------------------------------------------------------------------------------------------------


async def test_no_process_and_no_folder_stay_behind(stage: Stage, tmp_path: Path) -> None:
    async with running(stage.model) as engine:
        pid = engine.pid
        assert pid is not None and engine.alive and engine.key not in repr(engine)
        assert len(list(tmp_path.glob("skillopt-engine-*"))) == 1
    with pytest.raises(ProcessLookupError):  # reaped: not even a zombie
        os.kill(pid, 0)
    assert not list(tmp_path.glob("skillopt-engine-*"))
    with pytest.raises(ZeroDivisionError):
        async with running(stage.model) as engine:
            pid = engine.pid or 0
            raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PARENT = """
import asyncio, sys
from pathlib import Path
from skillopt.model.local.server import running
from skillopt.model.local.modelfile import ModelFile

async def main():
    async with running(ModelFile(sys.argv[2], Path(sys.argv[1]), "0", 1)) as engine:
        print(engine.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def _end_parent(path: Path, how: int, *, group: bool = False) -> int:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(path), "tiny"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    (os.killpg if group else os.kill)(parent.pid, how)
    parent.communicate(timeout=120)
    return pid


@POSIX
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_child_ends_with_its_parent(stage: Stage, how: int) -> None:
    assert gone(_end_parent(stage.path, how))


@POSIX
def test_ctrl_c_of_the_whole_group_ends_both(stage: Stage) -> None:
    assert gone(_end_parent(stage.path, signal.SIGINT, group=True))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the parent-death signal is Linux's")
def test_a_parent_killed_while_the_model_loads(stage: Stage) -> None:
    stage.path.write_bytes(b"SLOW")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(stage.path), "tiny"])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    until = time.monotonic() + 60
    while not (found := children.read_text().split()) and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    assert gone(int(found[0]))


async def test_a_slow_start_is_given_up(stage: Stage) -> None:
    stage.path.write_bytes(b"SLOW")
    engine = Engine(stage.model)
    with pytest.raises(FatalModelError, match=r"tiny was not ready after 1 s; it said: loading"):
        await engine.start(timeout=1)
    assert not engine.alive


async def test_a_model_that_cannot_load_shows_the_engines_words(stage: Stage) -> None:
    stage.path.write_bytes(b"BROKEN")
    with pytest.raises(FatalModelError, match=r"could not be loaded: Failed to init server.*upside down") as caught:
        await Engine(stage.model).start()
    assert "\n" not in str(caught.value)


async def test_a_missing_extra_is_one_line(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillopt.model.local.server.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(FatalModelError, match=r'pip install "skillopt\[local\]"'):
        await Engine(stage.model).start()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads a process's variables")
@pytest.mark.parametrize(("own", "told"), [("", "1000"), ("7", "7")])
async def test_threads_wait_asleep_unless_the_user_says_otherwise(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, own: str, told: str
) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    if own:
        monkeypatch.setenv("GOMP_SPINCOUNT", own)
    async with running(stage.model) as engine:
        variables = Path(f"/proc/{engine.pid}/environ").read_bytes().split(b"\0")
        assert f"GOMP_SPINCOUNT={told}".encode() in variables


def test_cores_respect_the_affinity() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


# -- pool and backend --------------------------------------------------------------------------------------------------


async def test_two_roles_share_one_engine_until_both_are_done(stage: Stage) -> None:
    async with EnginePool() as engines:
        settings = {"model": str(stage.path), "engines": engines}
        target, optimizer = create(settings), create(settings)
        assert target.endpoint == optimizer.endpoint
        replies = await asyncio.gather(target.complete(asking()), optimizer.complete(asking("again")))
        assert [reply.text for reply in replies] == ["42", "42"]
        (pid,) = {entry["pid"] for entry in stage.requests()}
        await target.aclose()
        await target.aclose()
        await optimizer.complete(asking())
        assert not gone(pid, 0.2)
        await optimizer.aclose()
        assert gone(pid)


async def test_reply_usage_and_identity(stage: Stage) -> None:
    backend = LocalBackend(str(stage.path))
    try:
        reply = await backend.complete(asking())
    finally:
        await backend.aclose()
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens) == (9, 1, 4)
    assert reply.model == backend.model == "tiny"
    identity = backend.identity()
    assert identity["kind"] == "local" and len(identity["sha256"]) == 64 and identity["temperature"] == 0.0
    assert {"engine", "context", "prefix"} <= set(identity) and str(stage.path) not in str(identity)


async def test_every_request_starts_from_its_own_state(stage: Stage) -> None:
    backend = LocalBackend(str(stage.path))
    try:
        for system in ("A", "B", "A", ""):
            await backend.complete(asking(system=system))
    finally:
        await backend.aclose()
    chat = "/v1/chat/completions"
    primed = [chat, "save", "restore", chat]
    assert stage.paths() == [*primed, *primed, "restore", chat, "erase", chat]
    bodies = [entry["body"] for entry in stage.requests()]
    assert bodies[0]["cache_prompt"] is False and bodies[0]["messages"][0]["content"] == "A"
    assert bodies[2] == bodies[8] != bodies[6]  # the same state for the same system prompt
    assert all(entry["ok"] for entry in stage.requests())


async def test_nothing_is_left_to_chance_on_the_wire(stage: Stage) -> None:
    backend = LocalBackend(str(stage.path))
    requests = [asking(), asking(), asking(temperature=0.8), asking(temperature=0.8, repeat=1), asking(seed=5)]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    try:
        for request in [*requests, asking(schema=schema)]:
            await backend.complete(request)
    finally:
        await backend.aclose()
    one, same, warm, repeat, seeded, shaped = (e["body"] for e in stage.requests() if "completions" in e["path"])
    assert one == same and one["temperature"] == 0.0 and warm["temperature"] == 0.8
    assert warm["seed"] != repeat["seed"] and seeded["seed"] == 5
    assert shaped["response_format"]["json_schema"]["schema"] == schema


async def test_a_dead_engine_is_transient_then_started_again(stage: Stage) -> None:
    backend = LocalBackend(str(stage.path))
    try:
        await backend.complete(asking())
        pid = stage.requests()[0]["pid"]
        os.kill(pid, signal.SIGTERM)
        assert backend._lease is not None and await noticed(backend._lease)  # pyright: ignore[reportPrivateUsage]
        assert (await backend.complete(asking())).text == "42"
        assert stage.requests()[-1]["pid"] != pid
    finally:
        await backend.aclose()


async def test_an_engine_that_keeps_dying_stops_the_run(stage: Stage) -> None:
    async with EnginePool() as engines:
        lease = engines.lease(stage.model, EngineSettings())
        for _ in range(4):
            pid = (await lease.ready()).pid or 0
            os.kill(pid, signal.SIGTERM)
            # Its first thread may be a zombie while others still end: only then is the whole child over.
            lost = await noticed(lease)
        assert isinstance(lost, TransientModelError) and "SIGTERM" in str(lost)
        with pytest.raises(FatalModelError, match=r"was ended by SIGTERM 4 times"):
            await lease.ready()


async def test_attached_to_a_running_engine(stage: Stage) -> None:
    async with running(stage.model, EngineSettings(private=False)) as engine:
        backend = create({"model": str(stage.path), "base_url": engine.base_url})
        assert (await backend.complete(asking(system="A"))).text == "42"
        await backend.aclose()
        assert engine.alive
    assert stage.paths() == ["/v1/chat/completions"]
    # Others may use that engine too, so nothing is taken from its cache.
    assert stage.requests()[0]["body"]["cache_prompt"] is False
    assert backend.identity() != LocalBackend(str(stage.path)).identity()


async def test_old_states_make_room(stage: Stage) -> None:
    async with running(stage.model) as engine:
        folder = Path(engine._folder)  # pyright: ignore[reportPrivateUsage]
        states = PrefixStates(engine.address, engine.key, folder, limit_bytes=12)
        for system in ("A", "B", "A", "C", "A", "B"):
            async with states.turn(asking(system=system).messages):
                assert len(list(folder.glob("*.state"))) <= 2
        await states.aclose()
    # A, B and C are primed once; B had been the least recently used one when C came, so it is primed again.
    assert stage.paths().count("save") == 4


# -- the real model ----------------------------------------------------------------------------------------------------


@pytest.mark.local_model
@pytest.mark.slow
async def test_the_real_model_answers_the_same_in_any_order() -> None:
    pytest.importorskip("xllamacpp", reason='the engine is not installed: pip install "skillopt[local]"')
    if find_present(load_catalogue().find(), cache_directory()) is None:
        pytest.skip("the embedded model is not in the cache: skillopt model pull")
    backend = create({"local_context": 1024})
    asked = [asking("What is 21 + 21? Reply with only the number.")]
    asked.append(asking("Name a river.", "Reply in one word.", temperature=0.8))
    try:
        first = [(await backend.complete(request)).text for request in asked]
        again = [(await backend.complete(request)).text for request in reversed(asked)]
    finally:
        await backend.aclose()
    assert first[0].strip() == "42"
    assert first == again[::-1]
