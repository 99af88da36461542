"""The noisy world of `factorial_worlds` over HTTP: whole runs of the product against a simulated provider.

    python benchmarks/noisy_http.py --seeds 10                   5,600 target calls a run (12 epochs of 400 rollouts)
    python benchmarks/noisy_http.py --seeds 10 --epochs 3        2,000
    python benchmarks/noisy_http.py --seeds 10 --rule strict     the published step and rule, 2 epochs of 10 steps
    python benchmarks/noisy_http.py --seeds 1 --epochs 1 --median-s 0.002      a try of a minute

A seed is another world and another run. 400 training, 200 selection and 200 test items, 60 ms median, 24 places;
factorial search, or the published step with a rule (budget of 8 edits, no slow update); client and server in processes
of their own. A prompt's n-th arrival is its n-th draw. Printed are the true accuracy of `best_skill.md` and of the last
draft on 2,000 items that nobody sees, calls and time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.factorial_worlds import SHAPES, World
from skillopt.testing.zygote import Zygote

SIZES = {"train": 400, "val": 200, "test": 200}
RULES = ("strict", "paired", "proof")
_TICKET = re.compile(r"Ticket (\d+):")
FENCE = re.compile(r"^(`{3,})([\w-]+)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"^\s*\[(\d+)\](.*)$", re.MULTILINE)
AT_MOST = re.compile(r"\bat most (\d+)\b", re.IGNORECASE)
SUPPORT = re.compile(r"support\D{0,8}(\d+)", re.IGNORECASE)


class Known(World):
    """The noisy world with every idea's text known from the start, so that both processes read a skill alike."""

    def __init__(self, seed: int) -> None:
        super().__init__(replace(SHAPES["noisy"], items=sum(SIZES.values())), seed)
        luck = random.Random(0)
        for kind, count in (("useful", len(self.shape.weights)), ("harmful", self.shape.harmful),
                            ("useless", self.shape.useless)):  # fmt: skip
            for number in range(count):
                self._text(luck, kind, number)

    def held(self, text: str) -> list[str]:
        """Lines of the world that a text holds."""
        return [line for line in text.splitlines() if line in self.idea_of]


class Provider:
    """Target and optimizer in one: the answer to a request's body."""

    def __init__(self, world: Known) -> None:
        self.world = world
        self._arrivals: Counter[tuple[int, tuple[str, ...]]] = Counter()
        self._asked = 0

    def answer(self, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
        """Text and usage."""
        from skillopt.testing.latency_server import counted

        whole = "\n".join(str(m["content"]) for m in body["messages"])
        asked = (body.get("response_format") or {}).get("json_schema", {}).get("name", "")
        text = self._optimize(asked, whole) if asked else self._solve(whole)
        return text, counted(dict(body), text)

    def _solve(self, whole: str) -> str:
        found = _TICKET.search(whole)
        if found is None:
            return "ready"
        item, lines = int(found[1]), self.world.held(whole)
        key = (item, tuple(sorted(lines)))
        draw = self._arrivals[key]
        self._arrivals[key] += 1
        right = self.world.score(f"i{item}", lines, draw)
        return f"<answer>{gold(item) if right else 'no seal'}</answer>"

    def _optimize(self, asked: str, whole: str) -> str:
        """What the optimizer says at a stage."""
        if asked == "merge":
            return json.dumps({"reasoning": "", "edits": self._merged(whole)})
        if asked == "ranking":
            return json.dumps({"reasoning": "", "selected_indices": self._ranked(whole)})
        self._asked += 1
        if "## Limit" in whole:
            skill, _, rest = whole.partition("## Limit")
            return self._reflect(skill, rest)
        blocks = [(m[2], m[3]) for m in FENCE.finditer(whole)]
        skill, rest = (" \n".join(text for label, text in blocks if label == kind) for kind in ("skill", "task"))
        if asked == "analyst_success" and self._luck("success").random() < 0.5:
            return self._reflect(skill, "")
        return self._reflect(skill, rest)

    def _luck(self, what: str) -> random.Random:
        return random.Random(f"{self.world.seed}:{what}:{self._asked}")

    def _merged(self, whole: str) -> list[dict[str, Any]]:
        """Equal phrases folded, their support added up; a tenth is dropped."""
        merged: dict[tuple[Any, Any, Any], dict[str, Any]] = {}
        for match in FENCE.finditer(whole):
            for patch in json.loads(match[3])["patches"] if match[2] == "json" else ():
                for edit in patch["edits"]:
                    entry = merged.setdefault((edit["op"], edit.get("target"), edit.get("content")),
                                              {**edit, "support_count": 0})  # fmt: skip
                    entry["support_count"] += edit.get("support_count", 1)
        luck = self._luck(f"merge {len(whole)}")
        kept = [edit for edit in merged.values() if luck.random() >= 0.1] or list(merged.values())
        return [{name: value for name, value in edit.items() if name != "merge_level"} for edit in kept]

    def _ranked(self, whole: str) -> list[int]:
        """By support, with noise."""
        luck, most = self._luck(f"rank {len(whole)}"), min(int(n) for n in AT_MOST.findall(whole))
        listed = [(int(n), text) for m in FENCE.finditer(whole) if m[2] == "edits" for n, text in LISTED.findall(m[3])]
        worth = {n: int((SUPPORT.search(text) or ["", "1"])[1]) + luck.gauss(0, 1) for n, text in listed}
        return sorted(worth, key=lambda n: -worth[n])[:most]

    def _reflect(self, skill: str, rest: str) -> str:
        """An edit for every two failures, each naming the attempts that it is for."""
        items = list(dict.fromkeys(int(n) for n in _TICKET.findall(rest)))
        lines = self.world.held(skill)
        failures = [(f"i{item}", lines) for item in items]
        edits = [
            {"op": "append", "target": None, "content": p.edit.content, "variant_of": None, "same_as": None,
             "attempts": [1 + [name for name, _ in failures].index(one) for one in p.addressed]}
            for p in self.world.propose(self._asked, failures, lines)
        ]  # fmt: skip
        patch = {"reasoning": "", "edits": edits}
        return json.dumps({"batch_size": len(items), "failure_summary": [], "success_patterns": [], "patch": patch})


def gold(item: int) -> str:
    """The right answer."""
    return f"seal {item * 7919 % 100003}"


def serve(seed: int, median_s: float) -> None:
    """The provider of a world, until it is ended."""
    import asyncio

    from skillopt.testing.latency_server import Behaviour
    from skillopt.testing.latency_server import serve as served

    provider = Provider(Known(seed))
    asyncio.run(served(Behaviour(median_s=median_s, seed=seed), answer=provider.answer))


@contextmanager
def provider_of(seed: int, median_s: float):
    """Its address, while it serves in a process of its own."""
    command = [sys.executable, __file__, "--serve", str(seed), "--median-s", str(median_s)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def write_project(root: Path, url: str, seed: int, epochs: int, rule: str) -> Path:
    """Data and configuration; a blank rule is the factorial search and its proof."""
    number = 0
    for split, count in SIZES.items():
        folder = root / "data" / split
        folder.mkdir(parents=True)
        rows = [{"id": f"t{n}", "question": f"Ticket {n}: which seal closes it?", "answer": gold(n)}
                for n in range(number, number + count)]  # fmt: skip
        (folder / "items.json").write_text(json.dumps(rows))
        number += count
    config = {
        "model": {"backend": "openai_compatible", "openai_compatible_base_url": url, "target": "noisy-target",
                  "optimizer": "noisy-optimizer"},
        "train": {"search": "factorial", "num_epochs": epochs, "batch_size": 40, "seed": seed},
        "gradient": {"minibatch_size": 8, "analyst_workers": 16},
        "evaluation": {"gate_rule": "proof"},
        "env": {"name": "jsonl", "split_mode": "split_dir", "split_dir": str(root / "data"), "workers": 24,
                "prompt_template": "{{ question }}", "scorer": {"name": "exact"}},
    }  # fmt: skip
    if rule:
        config["train"]["search"], config["evaluation"]["gate_rule"] = "published", rule
        config["optimizer"] = {"learning_rate": 8, "use_slow_update": False, "use_meta_skill": False}
    path = root / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@dataclass(frozen=True)
class Result:
    """One seed."""

    true: float
    draft: float
    ceiling: float
    target: int
    optimizer: int
    seconds: float


def one(seed: int, epochs: int, median_s: float, rule: str, zygote: Zygote) -> Result:
    """One run. Raises what ended it."""
    world = Known(seed)
    with tempfile.TemporaryDirectory(prefix="noisy_") as scratch, provider_of(seed, median_s) as url:
        root = Path(scratch)
        config = write_project(root, url, seed, epochs, rule)
        began = time.monotonic()
        ended = zygote.run(["train", "--config", str(config), f"env.out_root={root / 'run'}"])
        seconds = time.monotonic() - began
        if ended.code != 0:
            raise RuntimeError(ended.err or ended.out[-2000:])
        ledger = json.loads((root / "run/logs/ledger.json").read_text())["calls"]
        calls = {role: sum(r["calls"] for r in ledger if r["role"] == role and r["stage"] != "probe")
                 for role in ("target", "optimizer")}  # fmt: skip
        best = (root / "run/best_skill.md").read_text()
        draft = root / "run/draft_skill.md"
        last = draft.read_text() if draft.exists() else best
    return Result(
        world.truth(world.held(best)), world.truth(world.held(last)), world.ceiling, calls["target"],
        calls["optimizer"], seconds,
    )  # fmt: skip


def main() -> None:
    """Run the seeds one after the other, and print each as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=201)
    parser.add_argument("--epochs", type=int, help="12, or 2 with a rule")
    parser.add_argument("--rule", choices=RULES, default="", help="search as published, with this rule")
    parser.add_argument("--median-s", type=float, default=0.06)
    parser.add_argument("--serve", type=int, metavar="SEED", help="be the provider of a world")
    asked = parser.parse_args()
    if asked.serve is not None:
        serve(asked.serve, asked.median_s)
        return
    epochs = asked.epochs or (2 if asked.rule else 12)
    print("| seed | true | draft | ceiling | target calls | optimizer calls | s |\n|--:|--:|--:|--:|--:|--:|--:|")
    done: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch, Zygote(Path(scratch)) as zygote:
        for seed in range(asked.first, asked.first + asked.seeds):
            r = one(seed, epochs, asked.median_s, asked.rule, zygote)
            done.append(r)
            print(
                f"| {seed} | {r.true:.3f} | {r.draft:.3f} | {r.ceiling:.3f} | {r.target:,} | {r.optimizer} "
                f"| {r.seconds:.0f} |",
                flush=True,
            )
    true = [r.true for r in done]
    print(f"\n{len(done)} seeds: mean {statistics.fmean(true):.3f}, worst {min(true):.3f}")


if __name__ == "__main__":
    main()
