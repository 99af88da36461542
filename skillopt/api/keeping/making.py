"""A suite out of a finished run: its sealed test, its best skill and the answers that it has paid for.

All items of the sealed test go in, not only those that the skill gained: items that were chosen because one draw of
luck went well would be lost again by the very same skill. Which ones it gained is remembered by name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from skillopt.agents.skill_files import SKILL_FILE, File
from skillopt.api.given.configuring import configuration
from skillopt.api.given.written import repeatable_yaml
from skillopt.api.keeping.check import keep_only_journals
from skillopt.api.keeping.columns import Column, FileSource, prepared
from skillopt.api.keeping.suite import CONFIG, ITEMS, Suite, SuiteFile, read_suite, refuse_existing, write_suite
from skillopt.core.errors import DataError
from skillopt.core.json_types import as_object
from skillopt.core.outcome import Scored
from skillopt.core.skill import Skill
from skillopt.engine.run.context import metric_of
from skillopt.engine.run.given import Interrupt
from skillopt.engine.run.prepare import load_env
from skillopt.envs.base import Splits
from skillopt.envs.data.splits import write_generated
from skillopt.explain.ablation_forecast import check_same_run
from skillopt.gate.metric import Metric
from skillopt.gate.regression import fewest_items
from skillopt.records.directory import JOURNAL
from skillopt.records.reading import Run, open_run
from skillopt.records.rows import RolloutRow
from skillopt.ship.source import find_source
from skillopt.store.atomic import write_bytes, write_text


@dataclass(frozen=True)
class MadeSuite:
    """A new suite. `recorded` are the best skill's answers, taken from the run; `calls` of them were asked anew."""

    suite: Suite
    items: int
    recorded: Column


async def make_suite(
    run_dir: Path, root: Path, *, skill: Path | None = None, margin: float = 0.0, interrupt: Interrupt | None = None
) -> MadeSuite:
    """Make a suite in a new directory. `skill` is where the skill under test lies; without it the suite gets a copy.
    Raises `DataError`, `RunDirError` or `ConfigError`, one line, and leaves nothing behind."""
    refuse_existing(root)
    run = open_run(run_dir)
    config = configuration(run.root / "config.yaml").config
    check_same_run(config, run)
    _, splits = load_env(config)
    fewest = fewest_items(margin)
    if len(splits.test) < fewest:
        raise DataError(f"the sealed test has {len(splits.test)} items", hint=f"a suite needs {fewest} or more")
    try:
        suite = _laid_out(root, run, splits, skill, margin, _gained(run, metric_of(config)))
        source = FileSource(suite.config, suite.arguments)
        one = prepared(source, suite.baseline, {}, suite.recorded, ("test",), interrupt=interrupt)
        column = await one.run(answers=run.root / JOURNAL)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    return MadeSuite(suite, len(splits.test), column)


def _laid_out(root: Path, run: Run, splits: Splits, skill: Path | None, margin: float, fixed: tuple[str, ...]) -> Suite:
    """Everything but the answers."""
    _write(root, run, splits)
    baseline = _write_skill(root, "baseline", run)
    place = os.path.relpath(skill, root) if skill is not None else _write_skill(root, "skill", run)
    made_of = Path(os.path.relpath(run.root, root)).as_posix()
    said = SuiteFile(skill=Path(place).as_posix(), baseline=baseline, margin=margin, fixed=fixed, run=made_of)
    write_suite(root, said)
    write_text(root / ".gitattributes", "* -text\n")  # answers are recorded for these bytes, on every system
    suite = read_suite(root)
    keep_only_journals(suite)
    return suite


def _gained(run: Run, metric: Metric) -> tuple[str, ...]:
    """The items of the sealed test that the best skill does better than the initial one."""
    before, after = run.rollouts("test_eval_baseline"), run.rollouts("test_eval")
    if not after:
        raise DataError(f"{run.root} has no sealed test", hint="a suite is made of a run that ended with one")
    old, new = _values(before, metric), _values(after, metric)
    return tuple(name for name, value in new.items() if name in old and value > old[name])


def _values(rows: Mapping[str, RolloutRow], metric: Metric) -> dict[str, float]:
    return {
        name: metric.of(Scored(row.hard, row.soft))
        for name, row in rows.items()
        if row.hard is not None and row.soft is not None
    }


def _write(root: Path, run: Run, splits: Splits) -> None:
    """Items and configuration. A split directory needs an item in each split, so train and selection keep two."""
    parts = {"train": splits.train[:2], "selection": splits.selection[:2], "test": splits.test}
    write_generated(root / ITEMS, parts, {"source": "the sealed test of a run", "counts": {"test": len(splits.test)}})
    sections = as_object(yaml.safe_load(repeatable_yaml(run)))
    env = {**as_object(sections.get("env")), "out_root": "", "split_mode": "split_dir", "split_dir": ITEMS,
           "data_path": "", "skill_init": "", "limit": 0}  # fmt: skip
    train = {**as_object(sections.get("train")), "train_size": 0}
    body: str = yaml.safe_dump({**sections, "env": env, "train": train}, sort_keys=False, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType]
    write_text(root / CONFIG, body)


def _write_skill(root: Path, name: str, run: Run) -> str:
    """The best skill: a file, or a directory where others belong to it."""
    found = find_source(str(run.root))
    if not found.files:
        write_text(root / f"{name}.md", found.skill.text)
        return f"{name}.md"
    for path, file in {SKILL_FILE: File(_bytes(found.skill)), **found.files}.items():
        write_bytes(root / name / path, file.content)
        (root / name / path).chmod(0o755 if file.executable else 0o644)
    return name


def _bytes(skill: Skill) -> bytes:
    return skill.text.encode("utf-8", "surrogatepass")
