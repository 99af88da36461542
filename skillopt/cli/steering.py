"""`skillopt runs` and `skillopt ctl`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.table import Table

from skillopt.api.steering import order_of, runs, steer
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.wording import number


def run_runs(roots: Sequence[Path], *, as_json: bool) -> int:
    """`skillopt runs`."""
    screen, rows = Screen(whole=True), runs(roots)
    if as_json:
        found = [
            {"path": str(row.path), "status": row.status, "steps": row.steps, "best_score": row.best, "pid": row.pid or
             None, "changed": row.changed, "verdict": row.verdict, "problem": row.problem}
            for row in rows
        ]  # fmt: skip
        screen.line(json.dumps(found, ensure_ascii=False))
        return faults.DONE
    if not rows:
        screen.line(f"no runs in {', '.join(map(str, roots))}")
        return faults.DONE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("run", "status", "steps", "best", "changed"):
        side = "right" if name in ("steps", "best") else "left"
        table.add_column(name, justify=side, no_wrap=name != "run", overflow="fold")
    for row in rows:
        changed = datetime.fromtimestamp(row.changed).strftime("%Y-%m-%d %H:%M")
        status = f"{row.status} (pid {row.pid})" if row.pid else row.status
        table.add_row(str(row.path), status, str(row.steps), number(row.best), changed)
    screen.show(table)
    return faults.DONE


def run_ctl(run: Path, words: Sequence[str]) -> int:
    """`skillopt ctl`."""
    screen = Screen()
    effect = steer(run, order_of(words, by="command line"))
    if effect is None:
        screen.line("ordered; the run has not looked yet (it looks between calls)")
    else:
        screen.line(effect)
    return faults.DONE
