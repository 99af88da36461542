"""From a command's arguments to a resolved configuration, a run directory and a plan. Nothing is spent here."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from skillopt.config import Config, Resolved, load_config, parse_overrides
from skillopt.core.errors import ConfigError, DataError, JournalError, RunDirError, SkillOptError
from skillopt.core.skill import Skill
from skillopt.engine.assemble import check_fingerprint, load_env, load_initial
from skillopt.engine.estimate import observed_calls
from skillopt.engine.plan import Plan, make_plan
from skillopt.engine.rundir import JOURNAL
from skillopt.envs.base import Env, Splits
from skillopt.envs.registry import settings_schemas
from skillopt.model.prices import load_prices
from skillopt.store.journal import Journal
from skillopt.store.lock import RunLock

OUTPUTS = Path("outputs")
OVERRIDES_HELP = (
    "Any configuration key, in any of three forms: --batch_size 40, train.batch_size=40, "
    "--cfg-options train.batch_size=40 (docs/configuration.md lists them all)."
)
LEFTOVERS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Typer's context settings of a command that takes overrides."""

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.", show_default=False)]
DryRun = Annotated[
    bool, typer.Option("--dry-run", "--dry_run", help="Print every value and where it came from, then stop.")
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Answer from the recorded journal only; a missing answer is an error.")
]
AllowChange = Annotated[
    bool,
    typer.Option(
        "--allow-config-change",
        "--allow_config_change",
        help="Continue a run directory although configuration, data or initial skill have changed.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking, whatever it may cost.")]


def resolve_arguments(config: Path, leftovers: Sequence[str]) -> Resolved:
    """The configuration of a file, the environment variables and the arguments typer left over."""
    schemas = settings_schemas()
    overrides = parse_overrides(leftovers, schemas)
    return load_config(config, overrides=overrides, environ=os.environ, env_schemas=schemas)


@dataclass(frozen=True)
class Work:
    """What a run works on, loaded and checked."""

    config: Config
    env: Env
    splits: Splits
    initial: Skill


def load_work(config: Config) -> Work:
    """Items and initial skill. Raises `DataError` or `ConfigError`."""
    env, splits = load_env(config)
    return Work(config, env, splits, load_initial(config))


# --- where the run is written -----------------------------------------------------------------------------------------


def run_directory(work: Work, *, replay: bool) -> tuple[Path, str]:
    """The directory of a training run, and a remark on how it was chosen (blank when it was given).

    Without `env.out_root`, an unfinished run of the same configuration and data is continued, so that the same command
    typed again goes on; otherwise a new directory with the time in its name is used.
    """
    config = work.config
    if config.env.out_root:
        return Path(config.env.out_root), ""
    if replay:
        raise ConfigError("--replay needs env.out_root, the directory of the recorded run")
    stem = f"skillopt_{_plain(config.env.name)}_{_plain(config.model.optimizer)}_"
    for directory in sorted(OUTPUTS.glob(f"{stem}*"), reverse=True):
        if _continues(directory, work):
            return (
                directory,
                f"continuing the unfinished run in {directory} (env.out_root=<new directory> starts another)",
            )
    return OUTPUTS / f"{stem}{_now()}", ""


def eval_directory(config: Config) -> Path:
    """The directory of an evaluation."""
    if config.env.out_root:
        return Path(config.env.out_root)
    return OUTPUTS / f"eval_{_plain(config.env.name)}_{_plain(config.model.target)}_{_now()}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", Path(name).name if os.sep in name else name).strip("-") or "none"


def _now() -> str:
    return datetime.now().astimezone().strftime("%Y%m%d_%H%M%S")


def _continues(directory: Path, work: Work) -> bool:
    """True for a directory with an unfinished run of the same fingerprint that nobody is writing."""
    if not (directory / JOURNAL).is_file() or (directory / "summary.json").exists():
        return False
    try:
        with RunLock(directory):
            journal = Journal.open(directory / JOURNAL, replay=True)
            try:
                if journal.get_meta("fingerprint") is None:
                    return False
                check_fingerprint(journal, work.config, work.env, work.splits, work.initial, allow=False)
            finally:
                journal.close()
    except SkillOptError:
        return False
    return True


# --- the plan ---------------------------------------------------------------------------------------------------------


def plan_of(work: Work, out_root: Path) -> Plan:
    """The forecast, informed by what earlier calls of the same run directory used."""
    config = work.config
    prices = load_prices(Path(config.model.prices) if config.model.prices else None)
    observed = None
    path = out_root / JOURNAL
    if path.is_file():
        # A journal that cannot be read yet (a run killed in its first milliseconds) only means that nothing was
        # observed; opening the run says what is wrong with it, or makes it anew.
        with contextlib.suppress(JournalError):
            journal = Journal.open(path, replay=True)
            try:
                observed = observed_calls(journal.ledger())
            finally:
                journal.close()
    return make_plan(config, work.env, work.splits, work.initial, prices, observed=observed)


def refuse(plan: Plan) -> None:
    """Raises `DataError` with the first reason not to start."""
    if plan.refusals:
        raise DataError(plan.refusals[0])


def check_overwritten(directory: Path, skill: Skill) -> None:
    """An evaluation does not write over another skill's results. Raises `RunDirError`."""
    held = directory / "skill.md"
    if held.is_file() and held.read_bytes() != skill.text.encode("utf-8", "surrogatepass"):
        raise RunDirError(
            f"{directory} holds the evaluation of another skill", hint="choose another env.out_root for this one"
        )
