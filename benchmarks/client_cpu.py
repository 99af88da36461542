"""Client CPU per call, with and without the wire: how much is the engine's own and how much SDK and sockets.

    python benchmarks/client_cpu.py

The same SearchQA-shaped run twice, each in a process of its own: once against the server (2 ms median, so the clock is
no concern) and once with the scripted model in the client's process. CPU is user + system of the client, start-up left
out; the scripted run also pays for making the answers.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.searchqa_shaped import write_config, write_data
from benchmarks.wall_time import bench
from skillopt.testing.zygote import Zygote


def scripted() -> tuple[float, int, int]:
    """(CPU seconds, calls, peak RSS) of the run without a wire."""
    with tempfile.TemporaryDirectory() as name, Zygote(Path(name)) as zygote:
        root = Path(name)
        path = write_config(root / "config.yaml", write_data(root / "data"), "")
        config = yaml.safe_load(path.read_text())
        config["model"] = {"backend": "scripted"}
        path.write_text(yaml.safe_dump(config))
        ended = zygote.run(["train", "--config", str(path), f"env.out_root={root / 'run'}"])
        if ended.code != 0:
            raise RuntimeError(ended.err)
        ledger = json.loads((root / "run/logs/ledger.json").read_text())["calls"]
        return ended.cpu_s, sum(r["calls"] for r in ledger), ended.peak_rss


def main() -> None:
    """Best of three each."""
    with bench(median_s=0.002) as b:
        runs = [b.run(f"wire #{n + 1}") for n in range(3)]
    wire = min(1000 * m.ended.cpu_s / m.stats["started"] for m in runs)
    engine, calls, peak = min(scripted() for _ in range(3))
    own = 1000 * engine / calls
    print(f"wire {wire:.2f} ms a call; scripted {own:.2f} ms a call; so SDK and sockets take {wire - own:.2f} ms")
    print(f"peak RSS {max(m.ended.peak_rss for m in runs) / 1e6:.0f} MB with the wire, {peak / 1e6:.0f} MB without")


if __name__ == "__main__":
    main()
