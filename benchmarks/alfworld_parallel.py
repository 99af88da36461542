"""ALFWorld's episodes side by side: games and steps a minute at one and at eight, and how busy the cores were.

    python benchmarks/alfworld_parallel.py                                  # the sample's small kitchens
    python benchmarks/alfworld_parallel.py --games DIR --split DIR/split    # real games ($ALFWORLD_DATA's form)

Run it alone on a quiet machine. Each width is one `skillopt eval` with a scripted model that answers at once, so that
the games are all that takes time (on games that it does not know it looks around). `busy` is the CPU time of the
process and all its workers over wall time times cores. One line of JSON a width.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def cpu_s() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def evaluated(place: Path, width: int, changes: list[str]) -> dict[str, object]:
    """One evaluation of the test split at a width."""
    out = place / f"width-{width}"
    skill = ROOT / "skillopt/envs/alfworld/skills/initial.md"
    command = [sys.executable, "-m", "skillopt", "eval", "--config", str(ROOT / "configs/alfworld/sample.yaml"),
               "--skill", str(skill), "--split", "test", "--out_root", str(out),
               f"env.workers={width}", *changes]  # fmt: skip
    before, begun = cpu_s(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    wall, spent = time.perf_counter() - begun, cpu_s() - before
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    rows = [json.loads(line) for path in out.rglob("results.jsonl") for line in path.read_text().splitlines()]
    steps = sum(int((row.get("detail") or {}).get("turns") or row.get("n_turns") or 0) for row in rows)
    cores = os.cpu_count() or 1
    busy = round(spent / wall / cores, 2)
    return {"width": width, "games": len(rows), "missing": sum(row.get("hard") is None for row in rows),
            "steps": steps, "wall_s": round(wall, 1), "games_a_minute": round(60 * len(rows) / wall, 1),
            "steps_a_minute": round(60 * steps / wall), "busy": busy, "cores": cores}  # fmt: skip


def main() -> None:
    """The sample, or the games that are given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=Path)
    parser.add_argument("--split", type=Path, help="directory with {train,val,test}/items.json")
    parser.add_argument("--limit", type=int, default=8, help="games at each width")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--widths", type=int, nargs="*", default=[1, 8])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="skillopt-bench-") as folder:
        place = Path(folder)
        games, split = given.games, given.split
        if games is None:
            split = games = place / "alfworld_sample"
            subprocess.run([sys.executable, "-m", "skillopt", "data", "get", "alfworld", "--sample",
                            "--output-dir", str(games)], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        changes = [f"env.data_root={games.resolve()}", f"env.split_dir={(split or games / 'split').resolve()}",
                   f"env.limit={given.limit}", f"env.max_turns={given.steps}"]  # fmt: skip
        for width in given.widths:
            print(json.dumps(evaluated(place, width, changes)), flush=True)


if __name__ == "__main__":
    main()
