"""What each environment costs beside the model, on the samples: that things are done once, and the share that is ours.

    python benchmarks/bench_environments.py              # all eleven, a minute on two quiet cores
    python benchmarks/bench_environments.py docvqa alfworld

A scripted model answers at once, so the time of a rollout is all ours; the share is against a model that takes
`--call-seconds` a call (2.0); the first item, which imports, stands apart. Environments whose extra is not there are
named and left out. No quality is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from skillopt.api import datasets
from skillopt.envs.datasets.catalogue import PLACES
from skillopt.envs.datasets.dataset import Request
from skillopt.envs.datasets.solver import respond
from skillopt.envs.publish.published import Published, published
from skillopt.model.types import ChatReply, ChatRequest

ROOT = Path(__file__).parents[1]
NEEDS = {"alfworld": "textworld", "spreadsheetbench": "openpyxl", "docvqa": "PIL", "mathverse": "PIL",
         "babyvision": "PIL", "mmrb": "PIL"}  # fmt: skip
FILES = {"officeqa": "env.data_dirs=[{}/docs]", "spreadsheetbench": "env.data_root={}", "alfworld": "env.data_root={}"}


class Scripted:
    """A model that takes no time; `calls` counts."""

    model = "scripted"
    calls = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer."""
        self.calls += 1
        return ChatReply(text=respond(request), finish="stop")


def sample(name: str, place: Path) -> Published:
    """The sample of an environment, loaded."""
    where = datasets.get(name, Request(output=place / f"{name}_sample"), sample=True).directory
    overrides = [f"env.split_dir={where}", *([FILES[name].format(where)] if name in FILES else [])]
    return published(ROOT / f"configs/{name}/sample.yaml", overrides=overrides)


async def rollouts(name: str, place: Path, call_s: float, most: int) -> dict[str, object]:
    """Each item played once, one after another."""
    begun = time.perf_counter()
    found = sample(name, place)
    loaded = time.perf_counter() - begun
    model, times, lost = Scripted(), list[float](), 0
    for item in found.items[:most]:
        begun = time.perf_counter()
        outcome = (await found.rollout(item, model, model)).outcome
        times.append(time.perf_counter() - begun)
        lost += not hasattr(outcome, "hard")
    calls, later = model.calls / len(times), statistics.mean(times[1:] or times)
    return {"environment": name, "items": len(times), "missing": lost, "sample_and_load_s": round(loaded, 3),
            "first_item_ms": round(times[0] * 1000, 1), "item_ms": round(later * 1000, 1),
            "calls_an_item": round(calls, 1), "share_ours": round(later / (later + calls * call_s), 4)}  # fmt: skip


@contextmanager
def counted(target: str) -> Iterator[mock.Mock]:
    """A function of a module, counted and called."""
    module, _, name = target.rpartition(".")
    real: Any = getattr(importlib.import_module(module), name)
    with mock.patch(target, side_effect=real) as spy:
        yield spy


def images(place: Path) -> dict[str, object]:
    """Ten passes over a sample's pages: how many encodings, how long the first pass and a later one took."""
    from skillopt.envs.images import Images

    found = sample("docvqa", place)
    store, times = Images((place,)), list[float]()
    names = [str(item.data["image_path"]) for item in found.items]
    for _ in range(10):
        begun = time.perf_counter()
        for name in names:
            store.uri(name, "benchmark")
        times.append(time.perf_counter() - begun)
    first, later = (round(taken / len(names) * 1e6) for taken in (times[0], times[-1]))
    return {"once": "images", "pages": len(set(names)), "asked": 10 * len(names), "encoded": store.encoded,
            "first_pass_us": first, "later_us": later}  # fmt: skip


def workbooks(place: Path) -> dict[str, object]:
    """Gold against gold: how often a check opens each workbook."""
    from skillopt.envs.spreadsheetbench.dataloader import cases_of
    from skillopt.envs.spreadsheetbench.work import compared

    found = sample("spreadsheetbench", place)
    root, times = place / "spreadsheetbench_sample", list[float]()
    with counted("openpyxl.load_workbook") as spy:
        for item in found.items:
            for case in cases_of(item):
                payload = {"position": item.data["position"], "gold": str(root / case.gold)}
                begun = time.perf_counter()
                compared(root / case.gold, payload)
                times.append(time.perf_counter() - begun)
    each = statistics.mean(times[1:])
    return {"once": "workbooks", "checks": len(times), "output_and_gold_opened": spy.call_count,
            "opened_a_check": spy.call_count / len(times), "check_ms": round(each * 1000, 2)}  # fmt: skip


def index(place: Path) -> dict[str, object]:
    """A corpus of its own, looked up fifty times: the index is made once, whoever opens it."""
    from skillopt.envs.officeqa.corpus import Corpus, index_place, make_index

    docs = place / f"corpus-{os.getpid()}"
    docs.mkdir()
    for number in range(300):
        rows = "\n".join(f"Receipts of month {m} of {1900 + number}: {number * m} millions" for m in range(400))
        (docs / f"bulletin_{number}.txt").write_text(rows)
    roots, times = (docs,), list[float]()
    for _ in range(2):
        begun = time.perf_counter()
        make_index(roots)
        times.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    for number in range(50):
        Corpus(roots).grep(f"of {1900 + 6 * number}: ")
    grep = (time.perf_counter() - begun) / 50
    index_place(roots).unlink(missing_ok=True)
    return {"once": "index", "files": 300, "made_s": round(times[0], 2), "again_s": round(times[1], 3),
            "grep_ms": round(grep * 1000, 1)}  # fmt: skip


def distance() -> dict[str, object]:
    """ANLS of texts of eighty characters, and whether its edit distance is compiled."""
    from skillopt.envs.docvqa.rollout import anls

    pairs = [
        (f"invoice {n} of the eastern branch " * 3, f"invoice {n + 1} of the western branch " * 3) for n in range(2000)
    ]
    begun = time.perf_counter()
    for left, right in pairs:
        anls(left, right)
    each = (time.perf_counter() - begun) / len(pairs)
    compiled = importlib.util.find_spec("rapidfuzz") is not None
    return {"once": "edit distance", "pairs": len(pairs), "compiled": compiled, "pair_us": round(each * 1e6, 1)}


def main() -> None:
    """One line of JSON a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=sorted(PLACES))
    parser.add_argument("--call-seconds", type=float, default=2.0)
    parser.add_argument("--items", type=int, default=8, help="items of each environment")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skillopt-bench-") as folder:
        place = Path(folder)
        for name in given.names:
            if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
                print(json.dumps({"environment": name, "left_out": f"{NEEDS[name]} is not installed"}), flush=True)
                continue
            print(json.dumps(asyncio.run(rollouts(name, place, given.call_seconds, given.items))), flush=True)
        parts = {"docvqa": images, "spreadsheetbench": workbooks, "officeqa": index}
        for name, part in parts.items():
            if name in given.names and (name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None):
                print(json.dumps(part(place)), flush=True)
        print(json.dumps(distance()), flush=True)


if __name__ == "__main__":
    main()
