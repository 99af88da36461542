"""What a benchmark of one question and one answer costs beside the model: loading, requests, scores.

    python benchmarks/single_answer.py --items 2000 --images 200 --kilobytes 400

Pages of random bytes behind a PNG's first ones stand for scans; each is asked about several times. Times are of this
machine, for one process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from skillopt.config.schema.root import EnvSection
from skillopt.core.hashing import digest
from skillopt.envs.docvqa.adapter import DocVQAEnv
from skillopt.envs.docvqa.rollout import anls
from skillopt.envs.registry import create_env
from skillopt.model.types import ChatRequest


def make(place: Path, items: int, images: int, kilobytes: int) -> None:
    """A DocVQA set of that size."""
    (place / "images").mkdir(parents=True)
    for n in range(images):
        (place / f"images/{n}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(kilobytes * 1024))
    rows = [
        {"questionId": str(n), "question": f"What is in box {n}?", "answers": [f"answer {n}", f"the {n}"],
         "image_path": f"images/{n % images}.png"}
        for n in range(items)
    ]  # fmt: skip
    third = items // 3
    for split, part in (("train", rows[:third]), ("val", rows[third : 2 * third]), ("test", rows[2 * third :])):
        (place / split).mkdir()
        (place / split / "items.json").write_text(json.dumps(part))


def measure(place: Path) -> list[str]:
    """One line a figure."""
    env = create_env("docvqa", EnvSection(name="docvqa", split_mode="split_dir", split_dir=str(place)), {})
    assert isinstance(env, DocVQAEnv)
    began = time.perf_counter()
    splits = env.load()
    loaded = time.perf_counter()
    items = [*splits.train, *splits.selection, *splits.test]
    requests = [ChatRequest(env.messages(item, "# Skill\nBe exact."), "bench") for item in items]
    rendered = time.perf_counter()
    for request in requests[:100]:
        digest(request.key_fields())
    keyed = time.perf_counter()
    for item in items:
        anls("The answer is 17 of 12,500", item.data["answers"][0])
    scored = time.perf_counter()
    count = len(items)
    return [
        f"load and check with images: {(loaded - began) / count * 1e3:.2f} ms an item",
        f"requests: {(rendered - loaded) / count * 1e3:.2f} ms an item, {env._images.encoded} encodings",
        f"journal key: {(keyed - rendered) / min(100, count) * 1e3:.2f} ms a request",
        f"ANLS: {(scored - keyed) / count * 1e6:.1f} µs a pair",
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--kilobytes", type=int, default=400, help="of each image")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        make(Path(scratch) / "set", options.items, options.images, options.kilobytes)
        print("\n".join(measure(Path(scratch) / "set")))


if __name__ == "__main__":
    main()
