"""From a command's arguments to a resolved configuration, loaded data and a plan. Nothing is spent or written here."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from skillopt.config import Config, Resolved, load_config, parse_overrides
from skillopt.core.errors import DataError, JournalError
from skillopt.core.skill import Skill
from skillopt.engine.run.opening import check_train_size, load_env, starting_skill
from skillopt.envs.base import Env, Splits
from skillopt.envs.registry import settings_schemas
from skillopt.forecast.estimate import observed_calls
from skillopt.forecast.plan import Plan, make_plan
from skillopt.model.prices import load_prices
from skillopt.records.directory import JOURNAL
from skillopt.store.journal import Journal

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
    """Items, initial skill and the expected number of training items. Raises `DataError` or `ConfigError`."""
    env, splits = load_env(config)
    check_train_size(config, splits)
    return Work(config, env, splits, starting_skill(config))


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
