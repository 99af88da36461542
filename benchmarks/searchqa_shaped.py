"""A run of SearchQA's shape on a provider whose latency is simulated: the task, its data and its server.

400 training, 200 selection and 200 test items, batch 40, two epochs, minibatches of 8. Each item belongs to one of
eight families; a target solves it if it is easy, or less easy but the skill holds the family's hidden rule. Rules an
optimizer may propose are useful (one family gains), harmful (all families lose a little) or useless (single items flip
either way). Accuracies are those published for SearchQA: about 0.72 without a skill, 0.87 with a good one. Every answer
is a pure function of the request, so runs with other settings decide on equal grounds.

    python benchmarks/searchqa_shaped.py --median-s 0.06      serves it and prints the base URL
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import hashlib
import json
import random
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from skillopt.testing import toy
from skillopt.testing.latency_server import Behaviour, LatencyServer, counted
from skillopt.testing.stats import Tally
from skillopt.testing.toy_task import request_of

SIZES = {"train": 400, "val": 200, "test": 200}
FAMILIES = 8
CONTEXT_WORDS = 300
VERBS = ("weigh", "trace", "prefer", "reject", "compare", "expand", "quote", "date")

_CLUE = re.compile(r"clue (\d+) of family (\d+)")
_NAME = re.compile(r"\bname(\d+)x\b")
_RULE = re.compile(r"\b(USE|SPOIL|IDLE)-(\d+)\b")


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on its arguments only."""
    raw = hashlib.blake2b(":".join(map(str, parts)).encode(), digest_size=7).digest()
    return int.from_bytes(raw, "big") / 2**56


def item(number: int) -> dict[str, Any]:
    """One question over a long context; its answer is a name that stands there."""
    words = random.Random(number)
    filler = " ".join(f"w{words.randrange(20_000)}" for _ in range(CONTEXT_WORDS))
    return {
        "id": f"q{number}",
        "question": f"clue {number} of family {number % FAMILIES}?",
        "context": f"{filler} name{number}x {filler[:400]}",
        "answers": [f"name{number}x"],
    }


def write_data(root: Path) -> Path:
    """The three splits as `split_dir`."""
    number = 0
    for split, count in SIZES.items():
        (root / split).mkdir(parents=True, exist_ok=True)
        (root / split / "items.json").write_text(json.dumps([item(n) for n in range(number, number + count)]))
        number += count
    return root


def write_config(path: Path, data: Path, base_url: str) -> Path:
    """The configuration of the benchmark: SearchQA's, 24 places."""
    config = {
        "model": {
            "backend": "openai_compatible",
            "openai_compatible_base_url": base_url,
            "target": "bench-target",
            "optimizer": "bench-optimizer",
        },
        "train": {"num_epochs": 2, "batch_size": 40},
        "gradient": {"minibatch_size": 8, "analyst_workers": 16},
        "env": {"name": "searchqa", "split_mode": "split_dir", "split_dir": str(data), "workers": 24},
    }
    path.write_text(yaml.safe_dump(config))
    return path


def solved(number: int, family: int, skill: str) -> bool:
    """Whether the target solves an item with this skill."""
    held = set(_RULE.findall(skill))
    probability = 0.72 + (0.17 if ("USE", str(family)) in held else 0.0)
    right = chance("difficulty", number) < probability
    for kind, which in sorted(held):
        if kind == "SPOIL" and chance("spoil", which, number) < 0.12:
            right = False
        if kind == "IDLE" and chance("idle", which, number) < 0.03:
            right = not right
    return right


def answer(body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Target and optimizer in one."""
    stage = label(body)
    if stage.startswith("target"):
        text = _target(body)
    elif stage == "analyst":
        text = _analyst(body)
    else:
        text = toy.respond(request_of(body))
    return text, counted(body, text)


def _text(body: Mapping[str, Any], *roles: str) -> str:
    return "\n".join(m["content"] for m in body["messages"] if m["role"] in roles)


def _target(body: Mapping[str, Any]) -> str:
    system, task = _text(body, "system"), _text(body, "user")
    clue = _CLUE.search(task)
    if clue is None:
        return "ready"
    number, family = int(clue[1]), int(clue[2])
    return f"<answer>name{number}x</answer>" if solved(number, family, system) else "<answer>unknown</answer>"


def _analyst(body: Mapping[str, Any]) -> str:
    """One or two rules: for a family that is seen in the attempts, or for nothing, or against everything."""
    text = _text(body, "user")
    luck = random.Random(hashlib.sha256(text.encode()).digest())
    seen = sorted({family for _, family in _CLUE.findall(text)})
    edits: list[dict[str, Any]] = []
    for _ in range(luck.choice((1, 1, 2))):
        kind = luck.choices(("USE", "IDLE", "SPOIL"), (0.2, 0.4, 0.4))[0]
        which = luck.choice(seen) if kind == "USE" and seen else str(luck.randrange(40))
        content = f"{kind}-{which}: {luck.choice(VERBS)} what the passage says."
        edits.append({"op": "append", "target": None, "content": content})
    return json.dumps(
        {
            "batch_size": 8,
            "failure_summary": [{"failure_type": "missed", "count": 8, "description": "the name was missed"}],
            "success_patterns": [],
            "patch": {"reasoning": "seen in the attempts", "edits": edits},
        }
    )


def label(body: Mapping[str, Any]) -> str:
    """The stage a request belongs to."""
    if body["model"] == "bench-target":
        clue = _CLUE.search(_text(body, "user"))
        if clue is None:
            return "probe"
        number = int(clue[1])
        return "target train" if number < 400 else "target val" if number < 600 else "target test"
    schema: Mapping[str, Any] = (body.get("response_format") or {}).get("json_schema") or {}
    name = str(schema.get("name", ""))
    if not name:
        return "probe"
    if name == "merge":
        return "merge final" if '"merge_level": null' in _text(body, "user") else "merge"
    return "ranking" if name == "ranking" else "analyst"


class BenchServer(LatencyServer):
    """Keeps (arrival, stage, latency) of each request; `GET /calls` hands them out and starts anew."""

    def __init__(self, behaviour: Behaviour, *, port: int = 0) -> None:
        super().__init__(behaviour, answer, port=port)
        self.calls: list[tuple[float, str, float]] = []

    async def _respond(
        self, request: web.Request, body: Mapping[str, Any], key: str, tally: Tally
    ) -> web.StreamResponse:
        self.calls.append((asyncio.get_running_loop().time(), label(body), self._latency(key, tally.started)))
        return await super()._respond(request, body, key, tally)

    async def _stats(self, request: web.Request) -> web.Response:
        """Totals, calls and intervals since the last time; then counts from zero."""
        self.stats.occupy(0)
        told = {**self.stats.to_json(), "calls": self.calls, "log": self.stats.log}
        self.calls = []
        self.stats = type(self.stats)()
        return web.json_response(told)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the SearchQA-shaped task.")
    parser.add_argument("--median-s", type=float, default=0.06)
    parser.add_argument("--rate-429", type=float, default=0.0)
    parser.add_argument("--retry-after-s", type=float, default=1.0)
    parser.add_argument("--width", type=int, default=None)
    parser.add_argument("--reject-above-width", action="store_true")
    parser.add_argument("--down-after-s", type=float, default=None)
    parser.add_argument("--down-for-s", type=float, default=60.0)
    behaviour = Behaviour(**vars(parser.parse_args()))

    async def serve() -> None:
        async with BenchServer(dataclasses.replace(behaviour, seed=1)) as server:
            print(server.url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
