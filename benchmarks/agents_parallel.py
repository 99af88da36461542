"""Many rollouts at once: 200 through the tool loop, 8 through each real agent CLI. None lost, none left running.

    python benchmarks/agents_parallel.py [--loop 200] [--each 8]

Models are scripted and local. After each round the process list is searched for anything that the round began (a
variable in the environment marks it, so processes that left their context are found too). Memory is the peak of this
process and the largest sum over all its descendants, sampled every 0.2 s. Ends with 1 when a rollout was lost or a
process is left. Programs that are not installed are named and left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agent_model_server import AgentModelServer, ReadSkill, Say, Shell

from skillopt.agents.base import Agent, Attempt, Sampling, Task
from skillopt.agents.exec import ExecAgent
from skillopt.agents.settings import AgentSettings
from skillopt.agents.shell import ToolLoopSettings
from skillopt.agents.tool_loop import ToolLoopAgent
from skillopt.core.item import Item
from skillopt.core.skill import Skill
from skillopt.harnesses import processes
from skillopt.harnesses.claude_code import ClaudeCode
from skillopt.harnesses.codex import Codex
from skillopt.harnesses.copilot import Copilot
from skillopt.harnesses.environment import MARKER
from skillopt.harnesses.job import Cli, Endpoint
from skillopt.model.client import Client
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.types import ChatReply, ChatRequest, Message, ToolCall, Usage
from skillopt.store.journal import Journal
from skillopt.testing.scripted import ScriptedBackend

ROOT = Path(__file__).resolve().parents[1]
ENVIRON = {**os.environ, "PATH": os.pathsep.join([str(ROOT / ".e2e/node_modules/.bin"), os.environ["PATH"]])}
CLIS: tuple[Cli, ...] = (Codex(), ClaudeCode(), Copilot())
SAMPLE_S = 0.2


class NoBudget:
    """No caps."""

    async def reserve(self, **_: Any) -> int:
        return 0

    def settle(self, ticket: Any, *, usage: Usage, usd: float | None) -> None:
        """Nothing is counted."""

    def begin(self, ticket: Any) -> None:
        """Nothing is remembered."""

    def release(self, ticket: Any) -> None:
        """Nothing was reserved."""


def task(number: int) -> Task:
    """One item; the answer is its number, found in the workspace."""
    question = f"Item {number}: which number is this item?"
    return Task(
        item=Item(f"item-{number}", {"question": question}),
        skill=Skill("The number stands behind the word Item."),
        messages=lambda skill: (
            Message("system", f"Answer in <answer> tags.\n{skill}"),
            Message("user", question),
        ),
        next_turn=lambda turns: None,
        sampling=replace(Sampling(), deadline_s=400.0),
        stage="rollout",
    )


def marked() -> list[int]:
    """Living processes of any run that this process began, wherever they have gone."""
    found: list[int] = []
    for process in processes.alive():
        try:
            if f"{MARKER}={os.getpid()}-".encode() in Path(f"/proc/{process.pid}/environ").read_bytes():
                found.append(process.pid)
        except OSError:
            continue
    return found


def tree_memory() -> int:
    """Bytes resident in all descendants of this process."""
    total = 0
    for pid in processes.of_run(os.getpid(), ""):
        try:
            fields = Path(f"/proc/{pid}/statm").read_text().split()
        except OSError:
            continue
        total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


async def measured(name: str, count: int, agent: Agent, close: Callable[[], Awaitable[None]]) -> int:
    """Run `count` rollouts at once and print a line; the number of faults."""
    stop = asyncio.Event()

    async def sample() -> int:
        most = 0
        while not stop.is_set():
            most = max(most, await asyncio.to_thread(tree_memory))
            await asyncio.sleep(SAMPLE_S)
        return most

    sampling = asyncio.ensure_future(sample())
    started = time.monotonic()
    attempts: list[Attempt] = await asyncio.gather(*(agent.attempt(task(n)) for n in range(count)))
    seconds = time.monotonic() - started
    stop.set()
    children = await sampling
    await close()
    right = sum(a.text == f"<answer>{n}</answer>" for n, a in enumerate(attempts))
    read = sum(bool(a.notes.get("skill_read")) for a in attempts)
    left = marked()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{name}: {right} of {count} answered, {sum(bool(a.lost) for a in attempts)} lost, {read} read the skill, "
        f"{len(left)} processes left, {seconds:.1f} s, peak memory {own / 2**20:.0f} MiB here and "
        f"{children / 2**20:.0f} MiB in its children",
        flush=True,
    )
    for attempt in attempts:
        if attempt.lost:
            print(f"  lost: {attempt.lost}")
    return count - right + len(left)


def scripted(request: ChatRequest) -> ChatReply:
    """The tool loop's model: look, then answer with what it saw."""
    if request.messages[-1].role != "tool":
        command = "cat .agents/skills/skillopt-target/SKILL.md task.md"
        call = ToolCall("1", "bash", json.dumps({"command": command}))
        return ChatReply("", "tool_calls", Usage(100, 10), tool_calls=(call,))
    number = str(request.messages[-1].content).split("Item ")[-1].split(":")[0]
    return ChatReply(f"<answer>{number}</answer>", "stop", Usage(100, 10))


async def loop_round(count: int, place: Path) -> int:
    """The tool loop."""
    journal = Journal.open(place / "loop.sqlite3")
    chat = Client(role="target", backend=ScriptedBackend(scripted, version="parallel"), journal=journal,
                  meter=NoBudget(), pool=LimiterPool(), prices=load_prices(), limits=Limits(width=count))  # fmt: skip
    loop = ToolLoopAgent(chat, ToolLoopSettings(ENVIRON, delivery="native"), journal=journal)
    faults = await measured("tool loop", count, loop, loop.aclose)
    await journal.aclose()
    return faults


async def cli_round(cli: Cli, count: int, place: Path) -> int:
    """One agent CLI."""

    def answer(request: str) -> str:
        return f"<answer>{request.split('Item ')[-1].split(':')[0]}</answer>"

    with AgentModelServer((ReadSkill("skillopt-target"), Shell("cat task.md"), Say(answer))) as server:
        journal = Journal.open(place / f"{cli.name}.sqlite3")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "skillopt" / "agents"
        endpoint = Endpoint(server.url)
        settings = AgentSettings(cli=cli, environ=ENVIRON, model="scripted-model", endpoint=endpoint, cache=cache)
        agent = ExecAgent(settings, journal=journal, meter=NoBudget(), pool=LimiterPool(), prices=load_prices(),
                          limits=Limits(width=count))  # fmt: skip
        await agent.find()
        faults = await measured(f"{cli.name} {agent.version}", count, agent, agent.aclose)
        await journal.aclose()
    return faults


async def main(loop: int, each: int) -> int:
    """All rounds; 1 when anything was lost or left."""
    with tempfile.TemporaryDirectory(prefix="skillopt-parallel-") as folder:
        faults = await loop_round(loop, Path(folder)) if loop else 0
        for cli in CLIS:
            if shutil.which(cli.program, path=ENVIRON["PATH"]) is None:
                print(f"{cli.name}: not installed (make e2e)")
            elif each:
                faults += await cli_round(cli, each, Path(folder))
    return int(faults > 0)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--loop", type=int, default=200)
    arguments.add_argument("--each", type=int, default=8)
    given = arguments.parse_args()
    sys.exit(asyncio.run(main(given.loop, given.each)))
