"""Whole runs in this process on a task whose answers a test decides: which rules a skill holds, what they make right.

An item of kind k is answered right when the skill holds `RULE k` and wrong when it holds `BAN k`, whichever comes last;
`SURE k` beats both. The optimizer says what the test's `Play` says. Every request is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from skillopt.config import load_config
from skillopt.core.errors import ModelError
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas
from skillopt.model.types import ChatRequest
from skillopt.records.events import Event

KINDS = 4
Say = Callable[[ChatRequest], "dict[str, Any] | Exception"]
_PLAYS: dict[str, Play] = {}
_SCRIPT = """from tests.engine.epoch.stage import respond_of

respond = respond_of({name!r})
"""


def respond_of(name: str) -> Callable[[ChatRequest], Any]:
    """What the script file of a play answers with."""
    return _PLAYS[name].respond


def text_of(request: ChatRequest, *roles: str) -> str:
    return "\n".join(str(m.content) for m in request.messages if not roles or m.role in roles)


@dataclass
class Play:
    """What the models of one run say, and what they were asked. `says` maps an optimizer stage to its reply."""

    says: dict[str, Say]
    broken: Callable[[str, str], bool] = lambda skill, task: False
    """Whether the provider fails for this skill (system message) and this task."""
    asked: list[ChatRequest] = field(default_factory=list)

    def respond(self, request: ChatRequest) -> Any:
        self.asked.append(request)
        if request.schema is None:
            return self.target(request)
        said = self.says.get(request.stage, _nothing)(request)
        return said if isinstance(said, Exception) else json.dumps(said)

    def target(self, request: ChatRequest) -> str | Exception:
        skill, task = text_of(request, "system"), text_of(request, "user")
        found = re.search(r"Task (\w+) of kind (\d+)", task)
        if found is None:
            return "ready"
        if self.broken(skill, task):
            return ModelError("the machine behind this task is broken")
        number, kind = found.groups()
        words = re.findall(rf"\b(RULE|BAN) {kind}\b", skill)
        right = f"SURE {kind}" in skill or (bool(words) and words[-1] == "RULE")
        return f"<answer>{number if right else 'no idea'}</answer>"

    def stages(self, *names: str) -> list[ChatRequest]:
        return [r for r in self.asked if r.stage in names]

    def prompts(self, *names: str) -> list[str]:
        return [text_of(r) for r in self.stages(*names)]


def _nothing(request: ChatRequest) -> dict[str, Any]:
    """Nothing to change, in the words of any stage."""
    empty: dict[str, dict[str, Any]] = {
        "slow_update": {"reasoning": "", "slow_update_content": ""},
        "meta_skill": {"reasoning": "", "meta_skill_content": ""},
        "meta_reflect": {"meta_summary": "", "patch": {"reasoning": "", "edits": []}},
        "merge": {"reasoning": "", "edits": []},
    }
    return empty.get(request.stage, {"batch_size": 1, "patch": {"reasoning": "", "edits": []}})


def append(*lines: str) -> Say:
    """An analyst, or a meta reflection, that appends these lines."""
    edits = [{"op": "append", "target": None, "content": line} for line in lines]
    patch = {"reasoning": "because", "edits": edits}
    return lambda request: {"batch_size": 1, "failure_summary": [], "meta_summary": "A summary.", "patch": patch}


def guide(*texts: str) -> Say:
    """A slow update that says the texts one epoch after the other, the last one for ever."""
    return in_turn([{"reasoning": "seen", "slow_update_content": text} for text in texts])


def remember(*texts: str) -> Say:
    """A meta skill that says the texts one epoch after the other, the last one for ever."""
    return in_turn([{"reasoning": "seen", "meta_skill_content": text} for text in texts])


def in_turn(replies: Sequence[dict[str, Any] | Exception]) -> Say:
    """The replies one after the other. Only for one run: a second one would begin where the first ended."""
    left = list(replies)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


@dataclass(frozen=True)
class Ran:
    """A finished run's directory and what was asked in it."""

    root: Path
    play: Play
    stopped_by: str | None
    events: list[Event]

    def read(self, name: str) -> Any:
        return json.loads((self.root / name).read_text())

    def skill(self, step: int) -> str:
        return (self.root / f"skills/skill_v{step:04d}.md").read_text()

    @property
    def best(self) -> str:
        return (self.root / "best_skill.md").read_text()

    @property
    def state(self) -> dict[str, Any]:
        return self.read("runtime_state.json")

    def result(self, stage: str, epoch: int) -> dict[str, Any]:
        names = {"slow_update": "slow_result", "meta_skill": "meta_skill_result", "meta_reflect": "meta_result"}
        return self.read(f"{stage}/epoch_{epoch:02d}/{names[stage]}.json")


def items(first: int, count: int) -> list[dict[str, str]]:
    rows = range(first, first + count)
    return [{"id": f"i{n}", "question": f"Task n{n}x of kind {n % KINDS}", "answer": f"n{n}x"} for n in rows]


async def play(
    root: Path,
    says: dict[str, Say],
    *,
    sizes: Sequence[int] = (8, 8, 4),
    initial: str = "# Tasks\n\nAnswer the task.\n",
    broken: Callable[[str, str], bool] | None = None,
    **changes: Any,
) -> Ran:
    """Train once: batches of 4, so two steps an epoch. `changes` are `section__key`."""
    root.mkdir(parents=True, exist_ok=True)
    first = 0
    for split, count in zip(("train", "val", "test"), sizes, strict=True):
        (root / "data" / split).mkdir(parents=True, exist_ok=True)
        (root / "data" / split / "items.json").write_text(json.dumps(items(first, count)))
        first += count
    (root / "initial.md").write_text(initial)
    one = Play(says, broken or (lambda skill, task: False))
    _PLAYS[str(root)] = one
    (root / "script.py").write_text(_SCRIPT.format(name=str(root)))
    config: dict[str, dict[str, Any]] = {
        "model": {"backend": "scripted", "scripted_script": str(root / "script.py")},
        "train": {"num_epochs": 2, "batch_size": 4, "seed": 42},
        "optimizer": {"leakage": "off", "use_meta_skill": False},
        "evaluation": {"prefetch": False, "gate_rule": "strict"},
        "env": {
            "name": "jsonl",
            "skill_init": str(root / "initial.md"),
            "split_mode": "split_dir",
            "split_dir": str(root / "data"),
            "answer_field": "answer",
            "prompt_template": "{{ question }}",
            "workers": 4,
            "scorer": {"name": "exact"},
        },
    }
    for key, value in changes.items():
        section, option = key.split("__", 1)
        config.setdefault(section, {})[option] = value
    (root / "config.yaml").write_text(yaml.safe_dump(config))
    events: list[Event] = []
    resolved = load_config(root / "config.yaml", environ={}, env_schemas=settings_schemas())
    emit = Events([events.append])
    async with open_run_context(resolved, out_root=root / "run", emit=emit) as context:
        done = await train(context)
    return Ran(root / "run", one, done.stopped_by, events)
