"""Options that several commands share, and how a command takes configuration keys as options."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.console import Screen

if TYPE_CHECKING:
    from skillopt.config import Resolved

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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def resolve_arguments(config: Path, leftovers: list[str]) -> Resolved:
    """The configuration of a file, the environment variables and the arguments typer left over."""
    from skillopt.config import load_config, parse_overrides
    from skillopt.envs.registry import settings_schemas

    schemas = settings_schemas()
    overrides = parse_overrides(leftovers, schemas)
    return load_config(config, overrides=overrides, environ=os.environ, env_schemas=schemas)


def configured(context: typer.Context, config: Path, body: Callable[[Resolved], int], *, dry_run: bool = False) -> None:
    """Run a command on its configuration, or print that configuration. `body` imports what it needs."""

    def action() -> int:
        resolved = resolve_arguments(config, context.args)
        return show_values(Screen(), resolved) if dry_run else body(resolved)

    faults.run(action)


def show_values(screen: Screen, resolved: Resolved) -> int:
    """Every value and where it came from."""
    from skillopt.config import render_dry_run

    for line in render_dry_run(resolved).splitlines():
        screen.line(line)
    return faults.DONE
