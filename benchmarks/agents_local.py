"""One rollout through Codex and one through Claude Code with the embedded model behind them, on this machine alone.

    python benchmarks/agents_local.py [codex_exec claude_code_exec …] [--context 24576] [--minutes 25]

What is shown is that the real programs and the embedded model's own endpoint understand each other: a request that
reached the model, an answer that came back, its usage, how long it took. A model of 1.5 billion parameters is not
expected to use an agent's tools well, so the answer's correctness is printed and not judged. Needs the programs of
`make e2e` and `skillopt model pull`; prints why when it cannot run, and ends with 0 then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt.agents.base import Sampling, Task
from skillopt.agents.exec import ExecAgent
from skillopt.agents.settings import AgentSettings
from skillopt.core.errors import SkillOptError
from skillopt.core.item import Item
from skillopt.core.skill import Skill
from skillopt.harnesses.claude_code import ClaudeCode, ClaudeCodeOptions
from skillopt.harnesses.codex import Codex
from skillopt.harnesses.job import Cli, Endpoint
from skillopt.model.local.catalogue import load_catalogue
from skillopt.model.local.modelfile import cache_directory, find_present
from skillopt.model.local.server import running
from skillopt.model.local.settings import EngineSettings
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool
from skillopt.model.types import Message, Usage
from skillopt.store.journal import Journal

ROOT = Path(__file__).resolve().parents[1]
PATH = os.pathsep.join([str(ROOT / ".e2e/node_modules/.bin"), os.environ["PATH"]])
CLIS: dict[str, Cli] = {
    "codex_exec": Codex(),
    "claude_code_exec": ClaudeCode(ClaudeCodeOptions(tools=("Bash", "Skill"))),
}
QUESTION = "Which word comes last in this list: red, green, blue?"


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


async def rollout(backend: str, url: str, model: str, place: Path, seconds: float) -> dict[str, Any]:
    """One item through one program."""
    settings = AgentSettings(
        cli=CLIS[backend], environ={**os.environ, "PATH": PATH}, model=model, endpoint=Endpoint(url), attempts=1
    )
    journal = Journal.open(place / f"{backend}.sqlite3")
    agent = ExecAgent(settings, journal=journal, meter=NoBudget(), pool=LimiterPool(), prices=load_prices())
    task = Task(
        item=Item("last-word", {"question": QUESTION}),
        skill=Skill("Look at the end of the list."),
        messages=lambda skill: (
            Message("system", "Answer in tags, like <answer>red</answer>."),
            Message("user", QUESTION),
        ),
        next_turn=lambda turns: None,
        sampling=replace(Sampling(), deadline_s=seconds),
        stage="rollout",
    )
    started = time.monotonic()
    try:
        attempt = await agent.attempt(task)
        answer = {"answer": attempt.text, "lost": attempt.lost, "tokens": attempt.tokens, "notes": attempt.notes}
    except SkillOptError as error:
        answer = {"lost": str(error)}
    finally:
        await agent.aclose()
        await journal.aclose()
    return {"backend": backend, "seconds": round(time.monotonic() - started, 1), **answer}


async def main(backends: list[str], context: int, minutes: float) -> int:
    """Serve the model, run each program, print a line a program; 1 when one of them got no answer."""
    missing = [b for b in backends if shutil.which(CLIS[b].program, path=PATH) is None]
    entry = load_catalogue().find("")
    model = find_present(entry, cache_directory())
    if missing or model is None:
        print(f"not run: {', '.join(missing) or 'the model file'} missing (make e2e, skillopt model pull)")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="skillopt-agents-local-") as folder:
        settings = EngineSettings(n_ctx=context, private=False)
        async with running(model, settings) as engine:
            for backend in backends:
                found = await rollout(backend, engine.base_url, entry.name, Path(folder), minutes * 60)
                print(json.dumps(found, ensure_ascii=False), flush=True)
                failed += bool(found["lost"])
    return int(failed > 0)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("backends", nargs="*", default=list(CLIS))
    arguments.add_argument("--context", type=int, default=24_576)
    arguments.add_argument("--minutes", type=float, default=25.0)
    given = arguments.parse_args()
    sys.exit(asyncio.run(main(given.backends, given.context, given.minutes)))
