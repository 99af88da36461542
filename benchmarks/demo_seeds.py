"""The demo over several seeds: what `make demo` gains, with its interval, verdict counts and time, one line a seed.

Each seed draws its own numbers, batches and samples. Needs the embedded model (`skillopt model pull`) and an otherwise
idle machine for the times to mean anything: `python benchmarks/demo_seeds.py --seeds 1 2 3 4 5`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "| seed | initial | best | difference, 95 % interval | accepted / rejected / skipped | minutes |"


def run(seed: int, out: Path, config: Path) -> str:
    """Train once; returns the table row."""
    data, run_dir = out / f"data_{seed}", out / f"run_{seed}"
    make = [sys.executable, str(ROOT / "scripts/make_demo_data.py"), "--out", str(data), "--seed", str(seed)]
    subprocess.run(make, check=True, cwd=ROOT)
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "skillopt", "train", "--config", str(config), f"train.seed={seed}",
         f"env.split_dir={data}", f"env.out_root={run_dir}"],
        check=True, cwd=ROOT,
    )  # fmt: skip
    minutes = (time.monotonic() - began) / 60
    s = json.loads((run_dir / "summary.json").read_text(encoding="utf-8"))
    paired = s["paired"]
    low, high = paired["interval"]
    verdicts = f"{s['total_accepts']} / {s['total_rejects']} / {s['total_skips']}"
    return (
        f"| {seed} | {s['baseline_test_hard']:.3f} | {s['test_hard']:.3f} of {paired['n']} "
        f"| {paired['delta']:+.3f} [{low:+.3f}, {high:+.3f}] | {verdicts} | {minutes:.1f} |"
    )


def main() -> None:
    """Print the table; a seed's run directory is kept, so an interrupted benchmark goes on where it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--out", type=Path, default=ROOT / "outputs" / "demo_seeds")
    parser.add_argument("--config", type=Path, default=ROOT / "configs/demo/default.yaml")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(HEADER, "|---|---|---|---|---|---|", sep="\n")
    for seed in options.seeds:
        print(run(seed, options.out, options.config), flush=True)


if __name__ == "__main__":
    main()
