"""A program that behaves like `codex exec --json` by a plan, so that everything around the program is tested fast.

Each start is written to `calls.jsonl`; the n-th start follows the n-th entry of the plan (the last one from then on):
`answer`, `error` (a turn.failed), `exit`, `stderr`, `print` (text that is no record), `sleep`, `read` (read the skill),
`write` (files by name), `ask` (so many questions to its model, each of which has to be answered), `sleep_after` (then).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillopt.agents.base import Sampling, Task
from skillopt.agents.exec import ExecAgent
from skillopt.agents.settings import AgentSettings
from skillopt.core.item import Item
from skillopt.core.skill import Skill
from skillopt.harnesses.codex import Codex
from skillopt.harnesses.job import Endpoint
from skillopt.model.prices import load_prices
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.traffic.retry import Backoff
from skillopt.model.types import Message, Usage
from skillopt.store.journal import Journal

PROGRAM = r"""#!{python}
import fcntl, json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
if "--version" in sys.argv:
    print("codex-cli 9.9.9")
    sys.exit(0)
prompt = sys.stdin.read()
files = {{str(p.relative_to(".")): p.read_text() for p in sorted(pathlib.Path(".").rglob("*")) if p.is_file()}}
with open(here / "calls.jsonl", "a+") as log:
    fcntl.flock(log, fcntl.LOCK_EX)
    log.seek(0)
    number = len(log.readlines())
    log.write(json.dumps({{"argv": sys.argv, "prompt": prompt, "env": dict(os.environ), "cwd": os.getcwd(),
                          "files": files}}) + "\n")
plan = json.loads((here / "plan.json").read_text())
step = plan[min(number, len(plan) - 1)]
def say(**record):
    print(json.dumps(record), flush=True)
def item(**item):
    say(type="item.completed", item=item)
if "print" in step:
    print(step["print"])
if "stderr" in step:
    print(step["stderr"], file=sys.stderr)
if step.get("read"):
    text = pathlib.Path(".agents/skills/skillopt-target/SKILL.md").read_text()
    item(type="command_execution", command="cat SKILL.md", aggregated_output=text, exit_code=0, status="completed")
for name, text in step.get("write", {{}}).items():
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text)
time.sleep(step.get("sleep", 0))
for n in range(step.get("ask", 0)):
    import urllib.request
    name = "model_providers.skillopt.base_url="
    url = json.loads(next(a for a in sys.argv if a.startswith(name)).removeprefix(name)) + "/responses"
    body = json.dumps({{"model": "m", "input": prompt, "n": n, "max_output_tokens": 20, "stream": True}}).encode()
    key = os.environ["SKILLOPT_ENDPOINT_KEY"]
    asked = urllib.request.Request(url, body, {{"Authorization": "Bearer " + key, "Content-Type": "application/json"}})
    try:
        with urllib.request.urlopen(asked) as reply:
            assert b"response.completed" in reply.read()
    except urllib.error.HTTPError as error:
        say(type="turn.failed", error={{"message": error.read().decode()}})
        sys.exit(1)
(here / ("asked-%d" % number)).touch()
time.sleep(step.get("sleep_after", 0))
if "error" in step:
    say(type="turn.failed", error={{"message": step["error"]}})
if "answer" in step:
    item(type="agent_message", text=step["answer"])
    say(type="turn.completed", usage={{"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 7,
                                      "reasoning_output_tokens": 2}})
sys.exit(step.get("exit", 1 if "error" in step else 0))
"""


class Meter:
    """A budget that only remembers."""

    def __init__(self) -> None:
        self.open = 0
        self.reserved: list[tuple[int, int]] = []
        self.settled: list[Usage] = []

    async def reserve(self, *, prompt_tokens: int, completion_tokens: int, **_: Any) -> int:
        self.open += 1
        self.reserved.append((prompt_tokens, completion_tokens))
        return self.open

    def settle(self, ticket: Any, *, usage: Usage, usd: float | None) -> None:
        self.open -= 1
        self.settled.append(usage)

    def begin(self, ticket: Any) -> None:
        """Nothing is remembered."""

    def release(self, ticket: Any) -> None:
        self.open -= 1


class NoWait(Backoff):
    """Retries follow at once."""

    def wait(self, attempt: int, error: BaseException | None) -> float:
        return 0.0


@dataclass
class Stand:
    """The program in a directory, and agents that run it."""

    place: Path
    secret: str = "sk-endpoint-4242424242"
    settings: dict[str, Any] = field(default_factory=dict)
    opened: list[Any] = field(default_factory=list)

    def plan(self, *steps: dict[str, Any]) -> Stand:
        """Write the program with its plan."""
        self.place.mkdir(parents=True, exist_ok=True)
        program = self.place / "codex"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
        (self.place / "plan.json").write_text(json.dumps(steps))
        return self

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What each start saw."""
        log = self.place / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def agent(self, journal: Path | None = None, *, replay: bool = False, width: int = 8, **changes: Any) -> ExecAgent:
        """An agent on the journal file."""
        settings = AgentSettings(
            cli=Codex(),
            environ={"PATH": f"{self.place}:{os.environ['PATH']}", "HOME": "/home/user", "OPENAI_API_KEY": "sk-user-1"},
            model="some-model",
            endpoint=Endpoint("http://127.0.0.1:9/v1", self.secret),
        )
        opened = Journal.open(journal or self.place / "journal.sqlite3", replay=replay)
        self.opened.append(opened)
        meter = Meter()
        return ExecAgent(
            replace(settings, **{**self.settings, **changes}),
            journal=opened,
            meter=meter,
            pool=LimiterPool(),
            prices=load_prices(),
            limits=Limits(width=width),
            backoff=NoWait(),
        )

    def close(self) -> None:
        """Close the journals."""
        for journal in self.opened:
            journal.close()


def task(
    number: int = 1, skill: str = "Use wc -l.", *, repeat: int = 0, deadline_s: float = 60.0, messages: Any = None
) -> Task:
    """A task as an environment would give it."""

    def plain(text: str) -> Sequence[Message]:
        system = "Answer in <answer> tags." + (f"\n\n## Skill\n\n{text}" if text else "")
        return (Message("system", system), Message("user", f"How many lines are in file {number}?"))

    return Task(
        item=Item(f"item-{number}", {"question": number}),
        skill=Skill(skill),
        messages=messages or plain,
        next_turn=lambda turns: None,
        sampling=Sampling(deadline_s=deadline_s),
        stage="rollout",
        repeat=repeat,
    )
