"""From a command's arguments to a resolved configuration, loaded data and a plan. Nothing is spent or written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from skillopt.config import Resolved, load_config, parse_overrides
from skillopt.envs.registry import settings_schemas

OVERRIDES_HELP = (
    "Any configuration key, in any of three forms: --batch_size 40, train.batch_size=40, "
    "--cfg-options train.batch_size=40 (docs/reference/configuration.md lists them all)."
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


# --- the plan ---------------------------------------------------------------------------------------------------------
