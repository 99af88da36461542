"""`skillopt eval`: one skill on whole splits."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.live import Display
from skillopt.cli.show import show_eval, show_eval_bill
from skillopt.config import Resolved
from skillopt.core.errors import ConfigError
from skillopt.core.skill import Skill
from skillopt.engine.evaluate import evaluate, split_names
from skillopt.engine.run.events import Events
from skillopt.engine.run.opening import open_run_context, read_skill
from skillopt.engine.run.output_directory import EVALUATION, eval_place, evaluation_identity


def run_evaluation(resolved: Resolved, path: Path, split: str, *, replay: bool) -> int:
    """`skillopt eval`."""
    screen = Screen()
    names = split_names(split)
    skill = read_skill(path)
    if replay and not resolved.config.env.out_root:
        raise ConfigError("--replay needs env.out_root, the directory of the recorded evaluation")
    identity = evaluation_identity(resolved.config, skill, names)
    place = eval_place(resolved.config, identity, skill)
    for text in [*resolved.notices, *([place.remark] if place.remark else [])]:
        screen.line(f"note: {text}")
    screen.line(f"Skill: {path} ({skill.hash})")
    screen.line(f"Target: {resolved.config.model.target} via {resolved.config.model.target_backend}")
    out_root = place.claim()
    events = Events()
    begun = time.monotonic()
    with Display(screen, workers=resolved.config.env.workers) as display:
        events.add(display)
        summary = asyncio.run(_run(resolved, out_root, events, skill, names, identity, replay=replay))
    show_eval(screen, summary)
    show_eval_bill(screen, summary, time.monotonic() - begun)
    screen.line(f"Results: {out_root / 'eval_summary.json'}")
    return faults.DONE


async def _run(
    resolved: Resolved,
    out_root: Path,
    events: Events,
    skill: Skill,
    names: tuple[str, ...],
    identity: str,
    *,
    replay: bool,
) -> dict[str, Any]:
    async with open_run_context(resolved, out_root=out_root, emit=events, need="eval", replay=replay) as context:
        context.journal.set_meta(EVALUATION, identity)
        return await evaluate(context, skill, names)
