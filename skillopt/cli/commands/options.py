"""Options that several commands share, and how a command takes configuration keys as options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli import faults
from skillopt.cli.console import Screen

if TYPE_CHECKING:
    from skillopt.api.given.configuring import Resolved

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
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        help="So many runs that differ in train.seed, side by side, with one joint verdict; caps hold over all.",
        show_default=False,
    ),
]
Effort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        help="light, medium or heavy: epochs, batch, trials and gate from the size of the data, as printed keys; "
        "keys on the command line beat them.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def resolve_arguments(config: Path, leftovers: list[str], effort: str | None = None) -> Resolved:
    """The configuration of a file, the environment variables and the arguments typer left over; with `effort`, what the
    preset makes of the size of the data."""
    from skillopt.api.given.configuring import configuration

    return configuration(config, leftovers, effort=effort)


def configured(
    context: typer.Context,
    config: Path,
    body: Callable[[Resolved], int],
    *,
    dry_run: bool = False,
    effort: str | None = None,
) -> None:
    """Run a command on its configuration, or print that configuration. `body` imports what it needs."""

    def action() -> int:
        resolved = resolve_arguments(config, context.args, effort)
        return show_values(Screen(whole=True), resolved) if dry_run else body(resolved)

    faults.run(action)


def show_values(screen: Screen, resolved: Resolved) -> int:
    """Every value and where it came from."""
    from skillopt.api.given.configuring import described

    for line in described(resolved).splitlines():
        screen.line(line)
    return faults.DONE
