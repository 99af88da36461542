"""Runs that measure without training, as the command line asks for them: the self-test and the ablation of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skillopt.config import Config, Resolved
from skillopt.core.skill import Skill
from skillopt.engine.run.events import Events, Observer
from skillopt.engine.run.opening import open_run_context
from skillopt.engine.run.output_directory import selftest_place
from skillopt.engine.run.prepare import load_env, load_initial, read_skill
from skillopt.engine.selftest import SelfTest, selftest
from skillopt.envs.base import Splits
from skillopt.explain.ablation import Ablation, Wish, ablate
from skillopt.explain.provenance import Traced
from skillopt.records.directory import JOURNAL
from skillopt.records.reading import Run


def load_items(config: Config) -> Splits:
    """The items that a configuration names, checked. Raises `ConfigError` or `DataError`; spends nothing."""
    return load_env(config)[1]


def skill_to_test(config: Config, path: Path | None) -> tuple[Skill, Path]:
    """The skill that a self-test draws twice, and the directory that it writes."""
    return (read_skill(path) if path else load_initial(config)), selftest_place(config)


async def run_selftest(
    resolved: Resolved, skill: Skill, directory: Path, observers: Sequence[Observer] = ()
) -> SelfTest:
    """A skill against itself."""
    events = Events(observers)
    async with open_run_context(resolved, out_root=directory, emit=events, need="eval") as context:
        return await selftest(context, skill)


async def run_ablation(
    resolved: Resolved, run: Run, traced: Traced, wish: Wish, directory: Path, observers: Sequence[Observer] = ()
) -> Ablation:
    """The worth of each edit of a run's skill; what the run has paid for is free."""
    journal = run.root / JOURNAL
    answers = journal if journal.is_file() else None
    events = Events(observers)
    async with open_run_context(resolved, out_root=directory, emit=events, need="eval", answers=answers) as context:
        return await ablate(context, traced, wish)
