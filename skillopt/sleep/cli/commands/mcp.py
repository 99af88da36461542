"""`mcp`: the MCP server on stdin and stdout, until stdin ends."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from skillopt.core.aio import in_own_thread
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.mcp.protocol import Server
from skillopt.sleep.mcp.tools import PERSONS, TOOLS, call_tool


def flags(parser: argparse.ArgumentParser) -> None:
    """It has none."""
    del parser


async def run(call: Call) -> int:
    """Serve."""

    async def asked(name: str, arguments: Mapping[str, JsonValue]) -> JsonObject:
        return await call_tool(name, arguments, call.environ)

    server = Server("skillopt-sleep", "0.3.0", [tool.described() for tool in TOOLS], asked, frozenset(PERSONS))
    while line := await in_own_thread(call.stdin.readline):
        if not line.strip():
            continue
        reply = await server.answer(line)
        if reply is not None:
            call.stdout.write(reply + "\n")
            call.stdout.flush()
    return 0
