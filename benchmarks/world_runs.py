"""Whole training runs in the simulated world, in this process: data and configuration on disk, the real trainer.

A run's target calls can be capped by the engine's own budget, which then counts the target only: calls for the sealed
test and for a last look are kept back, and the call that would pass the cap ends the run in order. So arms that spend
their calls differently are compared at equal calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.world import Params, World
from skillopt.config import Resolved, load_config
from skillopt.core.errors import ConfigError
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.spending.budget import Budget
from skillopt.engine.run.telling.events import Events
from skillopt.engine.trainer import train
from skillopt.envs.registry import settings_schemas

SIZES = {"train": 400, "val": 200, "test": 200}
PROBES = 1
"""Calls of the target before a run begins."""
SCRIPT = '''"""Both models of a run in a simulated world."""
from benchmarks.world import Params, World
from benchmarks.world_models import Models

respond = Models(World(Params.of({params}))).respond
'''


@dataclass(frozen=True)
class Ended:
    """What a run came to, and its exact worth."""

    true: float
    skill: str
    """The product, best_skill.md."""
    current: str
    """The skill that the last step left."""
    useful: int
    useless: int
    harmful: int
    accepted: int
    steps: int
    target_calls: int
    """All but the probe; the sealed test is in them."""
    optimizer_calls: int
    seconds: float
    history: tuple[Mapping[str, Any], ...]
    summary: Mapping[str, Any]
    claimed: float | None
    """Selection score of the best skill, as the run reports it."""


def write_world(root: Path, params: Params, sizes: Mapping[str, int] = SIZES) -> Path:
    """Data, script and configuration of a world below `root`; returns the configuration file."""
    world, number = World(params), 0
    for split, count in sizes.items():
        (root / "data" / split).mkdir(parents=True, exist_ok=True)
        rows = [world.item(n) for n in range(number, number + count)]
        (root / "data" / split / "items.json").write_text(json.dumps(rows))
        number += count
    (root / "world.py").write_text(SCRIPT.format(params=params.to_json()))
    config = {
        "model": {"backend": "scripted", "scripted_script": str(root / "world.py")},
        "env": {
            "name": "jsonl",
            "split_mode": "split_dir",
            "split_dir": str(root / "data"),
            "prompt_template": "{{ question }}",
            "workers": 16,
            "scorer": {"name": "exact"},
        },
        "evaluation": {"prefetch": False},
    }
    (root / "config.yaml").write_text(yaml.safe_dump(config))
    return root / "config.yaml"


def resolved(config: Path, overrides: Mapping[str, Any]) -> Resolved:
    """The configuration with overrides `section.key: value` on top. Raises `ConfigError`."""
    base: dict[str, dict[str, Any]] = yaml.safe_load(config.read_text())
    for name, value in overrides.items():
        section, key = name.split(".", 1)
        base.setdefault(section, {})[key] = value
    config.write_text(yaml.safe_dump(base))
    return load_config(config, environ={}, env_schemas=settings_schemas())


def refused(overrides: Mapping[str, Any]) -> str:
    """Why this version does not take a configuration; "" when it does."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        try:
            resolved(write_world(Path(folder), Params(), {"train": 1, "val": 1, "test": 1}), overrides)
        except ConfigError as error:
            return error.message
    return ""


def run(
    params: Params,
    overrides: Mapping[str, Any],
    *,
    sizes: Mapping[str, int] = SIZES,
    calls: int | None = None,
    keep: Path | None = None,
    initial: str = "",
) -> Ended:
    """Train once in a scratch directory (or below `keep`) with at most `calls` target calls, the sealed test included.

    Raises what the trainer raises, and for a broken run.
    """
    root = keep or Path(tempfile.mkdtemp(prefix="world_", dir=scratch()))
    root.mkdir(parents=True, exist_ok=True)
    try:
        config = write_world(root, params, sizes)
        if calls is not None:
            overrides = {**overrides, "budget.max_calls": calls + PROBES}
        if initial:
            (root / "initial.md").write_text(initial)
            overrides = {**overrides, "env.skill_init": str(root / "initial.md")}
        began = time.monotonic()
        asyncio.run(_train(resolved(config, overrides), root / "run"))
        return _ended(World(params), root / "run", time.monotonic() - began)
    finally:
        if keep is None:
            shutil.rmtree(root, ignore_errors=True)


def scratch() -> str | None:
    """Memory, when the machine offers it: a run writes some thousand small files."""
    return "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None


async def _train(config: Resolved, out_root: Path) -> None:
    async with open_run_context(config, out_root=out_root, emit=Events()) as context:
        context.optimizer.meter = Budget()  # without limits: the run's budget is for the target
        result = await train(context)
    if result.stopped_by == "fault":
        raise RuntimeError(f"the run broke off: {result.stopped}")


def _ended(world: World, root: Path, seconds: float) -> Ended:
    history = json.loads((root / "history.json").read_text())
    summary = json.loads((root / "summary.json").read_text())
    ledger = json.loads((root / "logs/ledger.json").read_text())["calls"]
    skill = (root / "best_skill.md").read_text()
    calls = {
        role: sum(row["calls"] for row in ledger if row["role"] == role and row["stage"] != "probe")
        for role in ("target", "optimizer")
    }
    return Ended(
        true=world.truth(skill),
        skill=skill,
        current=(root / f"skills/skill_v{len(history):04d}.md").read_text(),
        useful=world.holds(skill, "useful"),
        useless=world.holds(skill, "useless"),
        harmful=world.holds(skill, "harmful"),
        accepted=sum("accept" in str(r["action"]) for r in history),
        steps=len(history),
        target_calls=calls["target"],
        optimizer_calls=calls["optimizer"],
        seconds=seconds,
        history=tuple(history),
        summary=summary,
        claimed=summary.get("best_selection_hard"),
    )
