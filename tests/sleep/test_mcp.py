"""S40 without the real clients: handshake, ids, unknown methods and arguments, and that nothing here adopts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.core.json_types import as_array, as_object
from skillopt.sleep.mcp.protocol import VERSIONS, Server
from skillopt.sleep.mcp.tools import PERSONS, TOOLS, call_tool


async def say(message: object) -> dict:
    async def call(name: str, arguments) -> dict:  # pyright: ignore
        return await call_tool(name, arguments, {"HOME": "/nowhere", "PATH": "/usr/bin:/bin"})  # pyright: ignore

    server = Server("s", "1", [t.described() for t in TOOLS], call, frozenset(PERSONS))
    reply = await server.answer(message if isinstance(message, str) else json.dumps(message))
    return {} if reply is None else as_object(json.loads(reply))


def request(method: str, ident: object = 1, **params: object) -> dict:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


async def use(tool: str, **arguments: object) -> dict:
    return await say(request("tools/call", name=tool, arguments=arguments))


async def test_handshake_of_every_version() -> None:
    for version in VERSIONS:
        reply = await say(request("initialize", "a-1", protocolVersion=version, capabilities={}))
        assert (reply["id"], reply["result"]["protocolVersion"]) == ("a-1", version)
    assert (await say(request("initialize", protocolVersion="2026-07-28")))["result"]["protocolVersion"] == VERSIONS[0]
    assert await say({"jsonrpc": "2.0", "method": "notifications/initialized"}) == {}
    assert (await say(request("ping")))["result"] == {}


async def test_what_is_unknown_is_said_in_the_protocols_words() -> None:
    assert (await say(request("server/discover", "x")))["error"]["code"] == -32601
    assert (await say("{"))["error"]["code"] == -32700
    assert (await say([1]))["error"]["code"] == -32600
    assert (await say(request("ping", True)))["error"]["code"] == -32600


async def test_no_tool_adopts() -> None:
    tools = as_array((await say(request("tools/list")))["result"]["tools"])
    names = [as_object(tool)["name"] for tool in tools]
    assert names == ["sleep_status", "sleep_dry_run", "sleep_harvest", "sleep_review", "sleep_run"]
    for name in ("sleep_adopt", "sleep_reject", "sleep_revert", "sleep_schedule"):
        told = (await use(name, project="/a b"))["result"]
        assert told["isError"] and f"skillopt-sleep {name[6:]} --project '/a b'" in told["content"][0]["text"]
    assert "unknown tool" in (await use("sleep_more"))["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'project' is missing"),
        ({"project": "relative"}, "absolute path"),
        ({"project": "/nowhere-at-all"}, "existing directory"),
        ({"project": "/tmp", "nonsense": 1}, "unknown argument 'nonsense'"),
        ({"project": "/tmp", "backend": "demo"}, "'backend' must be one of"),
        ({"project": "/tmp", "source": ["claude", "emacs"]}, "'source' must be one of"),
        ({"project": "/tmp", "max_calls": "7"}, "'max_calls' must be of type integer"),
        ({"project": "/tmp", "max_calls": True}, "'max_calls' must be of type integer"),
        ({"project": "/tmp", "max_calls": -1}, "at least 0"),
    ],
)
async def test_arguments_are_checked_by_name(arguments: dict, words: str) -> None:
    reply = await use("sleep_dry_run", **arguments)
    assert reply["error"]["code"] == -32602 and words in reply["error"]["message"]


async def test_a_run_needs_its_caps(tmp_path: Path) -> None:
    assert "'max_calls' is missing" in (await use("sleep_run", project=str(tmp_path)))["error"]["message"]


async def test_a_result_is_whole_in_both_places(tmp_path: Path) -> None:
    place = {"project": str(tmp_path), "state_dir": str(tmp_path / "state")}
    result = (await use("sleep_status", **place))["result"]
    assert result["isError"] is False and json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert json.loads(result["structuredContent"]["output"])["has_pending_proposal"] is False
    result = (await use("sleep_review", **place))["result"]
    assert result["isError"] is True and "no night is staged" in result["structuredContent"]["diagnostics"]
    assert not (tmp_path / ".skillopt-sleep").exists()


def test_the_server_speaks_on_stdout_and_nothing_else_does(tmp_path: Path) -> None:
    lines = [request("initialize", protocolVersion=VERSIONS[1]), request("tools/list", 2),
             request("tools/call", 3, name="sleep_status", arguments={"project": str(tmp_path)})]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "skillopt.sleep", "mcp"], input="".join(json.dumps(x) + "\n" for x in lines),
        capture_output=True, text=True, timeout=60, check=True, env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2, 3] and done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_ends_the_server_while_it_waits_for_a_line(tmp_path: Path) -> None:
    """The agent's own end of the pipe stays open: nothing but the signal says that it is over."""
    with subprocess.Popen(
        [sys.executable, "-m", "skillopt.sleep", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(tmp_path)},
    ) as server:  # fmt: skip
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(request("tools/list")) + "\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.terminate()
        try:
            assert server.wait(timeout=30) == 4
        finally:
            server.kill()
