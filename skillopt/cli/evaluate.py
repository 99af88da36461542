"""`skillopt eval`: one skill on whole splits."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from skillopt.api.given.configuring import Resolved
from skillopt.api.runs.evaluation import prepare, read_skill, split_names
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.progress.live import Display
from skillopt.cli.show import show_eval, show_eval_bill


def run_evaluation(resolved: Resolved, path: Path, split: str, *, replay: bool) -> int:
    """`skillopt eval`."""
    screen = Screen()
    names = split_names(split)
    skill = read_skill(path)
    evaluating = prepare(resolved, {"skill": skill}, names, replay=replay)
    for text in evaluating.notices:
        screen.line(f"note: {text}")
    screen.line(f"Skill: {path} ({skill.hash})")
    out_root = evaluating.place.claim()
    begun = time.monotonic()
    with Display(screen, workers=resolved.config.env.workers) as display:
        ended = asyncio.run(evaluating.run(out_root, [display], replay=replay))
    summary = ended.found["skill"].summary
    show_eval(screen, summary)
    show_eval_bill(screen, summary, time.monotonic() - begun)
    screen.line(f"Results: {out_root / 'eval_summary.json'}")
    for text in ended.late:
        screen.line(f"note: {text}")
    return faults.DONE
