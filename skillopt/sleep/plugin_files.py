"""The plugins of the three agents, out of the package's own files: a directory of the wheel and of the zipapp.

In a checkout they lie in `plugins/` beside the package. Each is small texts; `lay_out` copies one where a person wants
it, and overwrites nothing that is not of the plugin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Protocol

from skillopt.sleep.errors import StateError

FOLDERS = {"claude": "claude-code", "codex": "codex", "copilot": "copilot"}
MCP_NAME = "skillopt-sleep"


class _Place(Protocol):
    """A directory or file, packed or not."""

    @property
    def name(self) -> str: ...
    def is_dir(self) -> bool: ...
    def iterdir(self) -> Iterator[_Place]: ...
    def read_bytes(self) -> bytes: ...


def files_of(host: str) -> dict[str, bytes]:
    """The files of a host's plugin by their path within it. Raises `StateError` where the package has none."""
    packed = resources.files("skillopt.sleep").joinpath("plugins").joinpath(FOLDERS[host])
    place: _Place = packed if packed.is_dir() else Path(__file__).parents[2] / "plugins" / FOLDERS[host]
    if not place.is_dir():
        raise StateError(f"this installation has no plugin of {host}", hint="install skillopt again")
    # Codex's is laid into a directory of skills, where a README of ours is none of theirs.
    return {name: data for name, data in sorted(_found(place, "")) if (host, name) != ("codex", "README.md")}


def _found(place: _Place, below: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in place.iterdir():
        name = f"{below}{entry.name}"
        found += _found(entry, f"{name}/") if entry.is_dir() else [(name, entry.read_bytes())]
    return found


def lay_out(host: str, directory: Path) -> list[Path]:
    """Write a plugin's files below `directory`, which is made; those written. A link in the way is refused."""
    written: list[Path] = []
    for name, data in files_of(host).items():
        path = directory / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise StateError(f"{path} is in the way", hint="say another --output")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return written


def mcp_entry(host: str, program: tuple[str, ...]) -> str:
    """The entry of the MCP server for a host's configuration, with the program's own path."""
    command, args = program[0], [*program[1:], "mcp"]
    if host == "codex":
        return (f"[mcp_servers.{MCP_NAME.replace('-', '_')}]\ncommand = {json.dumps(command)}\n"
                f"args = {json.dumps(args)}")  # fmt: skip
    entry = {"command": command, "args": args}
    whole = {"type": "local", **entry, "tools": ["*"]} if host == "copilot" else entry
    return json.dumps({"mcpServers": {MCP_NAME: whole}}, indent=2)
