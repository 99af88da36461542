"""JSON-RPC 2.0, one message a line, as MCP clients speak it: initialize, ping, tools/list, tools/call.

Unknown methods get −32601 (`server/discover` among them, which makes newer clients fall back to initialize). Ids may be
texts or numbers; notifications get no answer. What cannot be read as a message is answered with −32700 or −32600.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from skillopt.core.json_types import JsonObject, JsonValue, as_object, as_text, parse_json

VERSIONS = ("2025-11-25", "2025-06-18", "2024-11-05")
PARSE, INVALID, UNKNOWN, PARAMS = -32700, -32600, -32601, -32602
CallTool = Callable[[str, Mapping[str, JsonValue]], Awaitable[JsonObject]]


class BadParams(Exception):
    """A request whose parameters are wrong; the text names which."""


@dataclass(frozen=True)
class Server:
    """A server over a list of tools. `call` runs one and gives its result object; it raises `BadParams`."""

    name: str
    version: str
    tools: Sequence[JsonObject]
    call: CallTool
    unlisted: Collection[str] = ()
    """Tools that are not offered and still answered."""

    async def answer(self, line: str) -> str | None:
        """The reply to one line, or None where none is due."""
        try:
            value = parse_json(line)
        except (ValueError, RecursionError):
            return _error(None, PARSE, "not JSON")
        message = as_object(value)
        ident, method = message.get("id"), message.get("method")
        if not isinstance(value, dict) or not isinstance(method, str):
            known = ident if isinstance(ident, (str, int)) else None
            return None if "result" in message or "error" in message else _error(known, INVALID, "not a request")
        if "id" not in message:
            return None
        if not isinstance(ident, (str, int)) or isinstance(ident, bool):
            return _error(None, INVALID, "an id is a text or a whole number")
        try:
            result = await self._result(method, as_object(message.get("params")))
        except BadParams as fault:
            return _error(ident, PARAMS, str(fault))
        if result is None:
            return _error(ident, UNKNOWN, f"unknown method {method}")
        return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}, ensure_ascii=False)

    async def _result(self, method: str, params: dict[str, JsonValue]) -> JsonObject | None:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self.name, "version": self.version},
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": list(self.tools)}
        if method == "tools/call":
            name = as_text(params.get("name"))
            if name not in self.unlisted and not any(tool.get("name") == name for tool in self.tools):
                raise BadParams(f"unknown tool {name!r}")
            arguments = params.get("arguments", {})
            if not isinstance(arguments, dict):
                raise BadParams("arguments must be an object")
            return await self.call(name, as_object(arguments))
        return None


def _error(ident: str | int | None, code: int, message: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}, ensure_ascii=False)
