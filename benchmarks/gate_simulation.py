"""Which rule may a user believe? False acceptances, power, harm, final true gain and calls, with known truth.

    python benchmarks/gate_simulation.py [--runs 1000] [--items 12 24 50 100 200] [--cells nulls few many]
                                         [--rules strict paired] [--json F] [--keep F]

Every run has 40 steps with one proposed edit each; training items are twice the selection items. Calls are shown as a
share of the strict rule's without early stop, training rollouts (40 a step, the same for all) included in both.
With `--keep F` every finished run is a line of F, and the same command goes on after them: a campaign takes hours.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gate_rules import BATCH, RULES, STEPS, Result
from benchmarks.gate_world import FEW_HELP, MANY_HELP, NOTHING_HELPS, Cell, World
from skillopt.gate.interval import score_interval

CELLS = {"nulls": NOTHING_HELPS, "few": FEW_HELP, "many": MANY_HELP}


def simulate(cell: Cell, rule: str, n: int, runs: int) -> dict[str, Any]:
    """One cell of the table."""
    return summary(cell, rule, n, [one_run(cell, rule, n, seed) for seed in range(runs)])


def one_run(cell: Cell, rule: str, n: int, seed: int) -> Result:
    """One run of 40 steps in a world of its own."""
    return RULES[rule](World(cell, 3 * n, seed), n)


def campaign(cell: Cell, rule: str, n: int, runs: int, keep: Path, jobs: int) -> dict[str, Any]:
    """One cell whose finished runs are kept in a file as they end, and are not made again."""
    head = {"cell": cell.name, "rule": rule, "n": n}
    kept = {row["seed"]: row["result"] for row in lines_of(keep) if head.items() <= row.items()}
    todo = [seed for seed in range(runs) if seed not in kept]
    with ProcessPoolExecutor(jobs) as pool, keep.open("a") as file:
        begun = {pool.submit(one_run, cell, rule, n, seed): seed for seed in todo}
        for future in as_completed(begun):
            kept[begun[future]] = asdict(future.result())
            print(json.dumps({**head, "seed": begun[future], "result": kept[begun[future]]}), file=file, flush=True)
    return summary(cell, rule, n, [Result(**kept[seed]) for seed in range(runs)])


def lines_of(path: Path) -> list[dict[str, Any]]:
    """What a campaign has kept; a last line that was cut by a kill is left out (its run is made again)."""
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def summary(cell: Cell, rule: str, n: int, results: list[Result]) -> dict[str, Any]:
    """What the runs of a cell say together."""
    runs = len(results)
    gains = [r.gain for r in results]
    false = [float(r.false_accepts > 0) for r in results]
    seen = sum(r.good_seen for r in results)
    rollouts = STEPS * min(BATCH, 2 * n)
    return {
        "cell": cell.name,
        "n": n,
        "rule": rule,
        "runs": runs,
        "false_runs": fmean(false),
        "false_interval": score_interval(false),
        "power": sum(r.accepts - r.false_accepts for r in results) / seen if seen else None,
        "harmful": fmean(r.harmful for r in results),
        "gain": fmean(gains),
        "gain_error": 1.96 * stdev(gains) / math.sqrt(runs),
        "gate_calls": fmean(r.calls for r in results),
        "calls_share": (fmean(r.calls for r in results) + rollouts) / (n * (STEPS + 1) + rollouts),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    head = "| edits | n | rule | runs with a false acceptance | accepts a true gain | harmful | true gain | calls |"
    lines = [head, "|---|--:|---|--:|--:|--:|--:|--:|"]
    for r in rows:
        low, high = r["false_interval"]
        power = "–" if r["power"] is None else f"{r['power']:.2f}"
        lines.append(
            f"| {r['cell']} | {r['n']} | {r['rule']} | {r['false_runs']:.3f} [{low:.3f}, {high:.3f}] | {power} "
            f"| {r['harmful']:.2f} | {r['gain']:+.3f} ± {r['gain_error']:.3f} | {r['calls_share']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the cells and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--items", type=int, nargs="+", default=[12, 24, 50, 100, 200])
    parser.add_argument("--cells", nargs="+", default=list(CELLS), choices=list(CELLS))
    parser.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="finished runs, a line each")
    options = parser.parse_args()
    cells = [cell for kind in options.cells for cell in CELLS[kind]]
    jobs = [(cell, rule, n, options.runs) for n in options.items for cell in cells for rule in options.rules]
    if options.keep:
        rows = [campaign(*job, options.keep, options.jobs) for job in jobs]
    elif options.jobs == 1:
        rows = [simulate(*job) for job in jobs]
    else:
        with ProcessPoolExecutor(options.jobs) as pool:
            rows = list(pool.map(simulate, *zip(*jobs, strict=True)))
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
