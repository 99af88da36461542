"""`plugins`: what an agent program is given, and with `--output` its files laid where a person wants them."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.sleep.cli.call import Call
from skillopt.sleep.plugin_files import FOLDERS, files_of, lay_out, mcp_entry
from skillopt.sleep.schedule.job import this_program

_ADD = {
    "claude": (
        "in Claude Code: /plugin marketplace add {place}",
        "then: /plugin install skillopt-sleep@skillopt-sleep",
        "MCP tools besides, as a file for --mcp-config or .mcp.json:",
    ),
    "codex": ("a skill, for ~/.agents/skills: --output ~/.agents/skills", "MCP tools, for ~/.codex/config.toml:"),
    "copilot": ("a snippet for .github/copilot-instructions.md: {place}/README.md",
                "MCP tools, for ~/.copilot/mcp-config.json:"),
}  # fmt: skip


def flags(parser: argparse.ArgumentParser) -> None:
    """Its flags."""
    parser.add_argument("host", nargs="?", choices=tuple(FOLDERS), help="one program (default: all three)")
    parser.add_argument("--output", metavar="DIR", default="", help="write the files of the program into DIR")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


async def run(call: Call) -> int:
    """Print, or lay out and print."""
    hosts = [call.text("host")] if call.text("host") else list(FOLDERS)
    program = this_program(sys.argv[0])
    answers: dict[str, JsonValue] = {}
    for host in hosts:
        own = call.path("output") / ("" if call.text("host") else FOLDERS[host])
        written = lay_out(host, own) if call.text("output") else []
        place = str(own) if written else "DIR"
        lines = [line.format(place=shlex.quote(place)) for line in _ADD[host]]
        entry = mcp_entry(host, program)
        names: list[JsonValue] = [*(str(path) for path in written)] if written else [*files_of(host)]
        answers[host] = {"files": names, "written": bool(written), "steps": [*lines], "mcp": entry}
        if not call.as_json:
            _tell(call, host, [str(name) for name in names], lines, entry, written)
    if call.as_json:
        call.json({"ok": True, "program": list(program), "hosts": answers})
    elif shutil.which("skillopt-sleep", path=call.environ.get("PATH")) is None:
        call.say(f"the texts call `skillopt-sleep`, which is not on PATH; here it is: {shlex.join(program)}")
    return 0


def _tell(call: Call, host: str, names: list[str], lines: list[str], entry: str, written: list[Path]) -> None:
    call.out(f"{host}: {', '.join(names)}")
    if not written:
        call.out(f"  skillopt-sleep plugins {host} --output DIR writes them")
    for line in lines:
        call.out(f"  {line}")
    for line in entry.splitlines():
        call.out(f"    {line}")
