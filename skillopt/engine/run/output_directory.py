"""Where a command writes. Nothing is made before `claim`, so that a refused command leaves no directory.

Without `env.out_root` the same command typed again goes on: an unfinished run (or evaluation) of the same
configuration, data and skill is continued; otherwise a new directory with the time in its name is used. A directory
holds one training run, or evaluations of one skill, never both.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from skillopt.config import Config, fingerprint_fields
from skillopt.core.errors import ConfigError, JournalError, RunDirError, SkillOptError
from skillopt.core.hashing import digest
from skillopt.core.skill import Skill
from skillopt.engine.run.fingerprint import check_fingerprint
from skillopt.engine.run.given import NOTHING, Given
from skillopt.engine.run.prepare import Work, load_env
from skillopt.records.beside.seeds import SEEDS_FILE
from skillopt.records.directory import JOURNAL
from skillopt.store.atomic import file_error
from skillopt.store.journal import Journal
from skillopt.store.lock import RunLock

OUTPUTS = Path("outputs")
EVALUATION = "evaluation"
"""Name of the journal's fact that says which evaluation a directory holds."""
SEVERAL = "seeds"
"""Name of the fact that says which runs of several seeds a directory is the parent of."""
CALIBRATION = "calibration"
"""The same of a calibration."""

Held = Literal["", "training", "evaluation", "several runs"]


@dataclass(frozen=True)
class OutputDirectory:
    """A directory that was chosen. `remark` says how, blank when it was given or is new."""

    directory: Path
    fresh: bool = False
    remark: str = ""

    def discard_unpaid(self, made: Path) -> None:
        """Take a new directory away again when a run failed before any answer was paid for."""
        if self.fresh and made.is_dir() and not paid(made):
            shutil.rmtree(made, ignore_errors=True)

    def claim(self) -> Path:
        """The directory to write. A new one is made now; who starts in the same second gets the name with `_2`."""
        if not self.fresh:
            return self.directory
        directory, number = self.directory, 1
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise file_error(directory.parent, fault) from fault
        while True:
            try:
                directory.mkdir()
                return directory
            except FileExistsError:
                number += 1
                directory = self.directory.with_name(f"{self.directory.name}_{number}")
            except OSError as fault:
                raise file_error(directory, fault) from fault


def train_place(work: Work, *, replay: bool = False) -> OutputDirectory:
    """Where a training run goes. Raises `RunDirError` for a directory that holds an evaluation."""
    config = work.config
    if config.env.out_root:
        directory = Path(config.env.out_root)
        if (other := held(directory)) in ("evaluation", "several runs"):
            what = "an evaluation" if other == "evaluation" else "several runs (--seeds)"
            raise RunDirError(f"{directory} holds {what}", hint="choose another env.out_root for this run")
        return OutputDirectory(directory)
    if replay:
        raise ConfigError("--replay needs env.out_root, the directory of the recorded run")

    def same(journal: Journal) -> bool:
        if journal.get_meta("fingerprint") is None or not (journal.count("chat") or journal.count("agent")):
            return False  # nothing was paid for there, so there is nothing to continue
        check_fingerprint(journal, config, work.env, work.splits, work.initial, allow=False)
        return True

    stem = f"skillopt_{_plain(config.env.name)}_{_plain(config.model.optimizer)}_"
    return _continued(stem, "summary.json", same, "run") or _new(stem, same, "run of this configuration")


def seeds_place(work: Work, identity: str, *, replay: bool = False) -> OutputDirectory:
    """Where the runs of several seeds go: their parent. Raises `RunDirError` for one that holds something else."""
    config = work.config
    if config.env.out_root:
        directory = Path(config.env.out_root)
        if held(directory) in ("training", "evaluation"):
            raise RunDirError(f"{directory} holds another run", hint="choose another env.out_root for several seeds")
        return OutputDirectory(directory)
    if replay:
        raise ConfigError("--replay needs env.out_root, the parent directory of the recorded runs")

    def same(journal: Journal) -> bool:
        return journal.get_meta(SEVERAL) == identity

    stem = f"skillopt_{_plain(config.env.name)}_{_plain(config.model.optimizer)}_seeds_"
    return _continued(stem, SEEDS_FILE, same, "runs") or _new(stem, same, "set of runs of this configuration")


def eval_place(config: Config, identity: str, skill: Skill) -> OutputDirectory:
    """Where an evaluation goes. Raises `RunDirError` for a directory of a training run or of another skill."""
    if config.env.out_root:
        directory = Path(config.env.out_root)
        if held(directory) in ("training", "several runs"):
            raise RunDirError(
                f"{directory} holds a training run", hint="choose another env.out_root for the evaluation"
            )
        check_overwritten(directory, skill)
        return OutputDirectory(directory)

    def same(journal: Journal) -> bool:
        return journal.get_meta(EVALUATION) == identity

    stem = f"eval_{_plain(config.env.name)}_{_plain(config.model.target)}_"
    return _continued(stem, "eval_summary.json", same, "evaluation") or _new(stem, same, "evaluation like this one")


def calibration_place(config: Config, identity: str) -> OutputDirectory:
    """Where a calibration of a judge goes. Raises `RunDirError` for a directory of a training run or an evaluation."""
    if config.env.out_root:
        directory = Path(config.env.out_root)
        other = held(directory)
        if other:
            raise RunDirError(f"{directory} holds another run ({other})", hint="choose another env.out_root")
        return OutputDirectory(directory)

    def same(journal: Journal) -> bool:
        return journal.get_meta(CALIBRATION) == identity

    stem = f"judge_{_plain(config.model.judge or config.model.optimizer)}_"
    return _continued(stem, "calibration.json", same, "calibration") or _new(stem, same, "calibration like this one")


def selftest_place(config: Config) -> Path:
    """Where a self-test goes: the given directory, whose training run then starts from its first draw, or a new one."""
    if config.env.out_root:
        return Path(config.env.out_root)
    return _new(f"selftest_{_plain(config.env.name)}_").claim()


def evaluation_identity(config: Config, skill: Skill, splits: Sequence[str], given: Given = NOTHING) -> str:
    """What makes two evaluations the same one: settings that can change a score, items, skill, splits."""
    env, loaded = load_env(config, given=given)
    items = {name: digest([item.digest for item in loaded.named(name)]) for name in splits}
    return digest([fingerprint_fields(config)["fixed"], env.version, items, skill.hash])


def held(directory: Path) -> Held:
    """What a directory holds; blank for nothing, or for a journal that cannot be read (opening it says why)."""
    if not (directory / JOURNAL).is_file():
        return ""
    try:
        journal = Journal.open(directory / JOURNAL, replay=True)
        try:
            training = journal.get_meta("fingerprint") is not None
            evaluation = journal.get_meta(EVALUATION) is not None or (directory / "eval_summary.json").exists()
            several = journal.get_meta(SEVERAL) is not None
        finally:
            journal.close()
    except JournalError:
        return ""
    return "several runs" if several else "training" if training else "evaluation" if evaluation else ""


def check_overwritten(directory: Path, skill: Skill) -> None:
    """An evaluation does not write over another skill's results. Raises `RunDirError`."""
    file = directory / "skill.md"
    if file.is_file() and file.read_bytes() != skill.text.encode("utf-8", "surrogatepass"):
        raise RunDirError(
            f"{directory} holds the evaluation of another skill", hint="choose another env.out_root for this one"
        )


def paid(directory: Path) -> bool:
    """Whether a directory's journal holds an answer. One that cannot be read counts as paid for."""
    if not (directory / JOURNAL).is_file():
        return False
    try:
        journal = Journal.open(directory / JOURNAL, replay=True)
        try:
            return bool(journal.count())
        finally:
            journal.close()
    except JournalError:
        return True


def _new(stem: str, same: Callable[[Journal], bool] | None = None, what: str = "") -> OutputDirectory:
    """A directory with the time in its name. A finished one that is the `same` is named: its answers cost nothing."""
    name = f"{stem}{datetime.now().astimezone().strftime('%Y%m%d_%H%M%S')}"
    remark = ""
    for directory in sorted(OUTPUTS.glob(f"{stem}*"), reverse=True):
        if same is not None and (directory / JOURNAL).is_file() and _matches(directory, same):
            remark = f"a {what} stands at {directory}; this one pays again (env.out_root={directory} shows that one)"
            break
    return OutputDirectory(OUTPUTS / name, fresh=True, remark=remark)


def _continued(stem: str, product: str, same: Callable[[Journal], bool], what: str) -> OutputDirectory | None:
    """The newest directory with unfinished work that is the `same` and that nobody is writing."""
    for directory in sorted(OUTPUTS.glob(f"{stem}*"), reverse=True):
        if (directory / JOURNAL).is_file() and not (directory / product).exists() and _matches(directory, same):
            remark = f"continuing the unfinished {what} in {directory} (env.out_root=<new directory> starts another)"
            return OutputDirectory(directory, remark=remark)
    return None


def _matches(directory: Path, same: Callable[[Journal], Any]) -> bool:
    try:
        with RunLock(directory):
            journal = Journal.open(directory / JOURNAL, replay=True)
            try:
                return bool(same(journal))
            finally:
                journal.close()
    except SkillOptError:
        return False


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", Path(name).name if os.sep in name else name).strip("-") or "none"
