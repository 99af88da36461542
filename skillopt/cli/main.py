"""The command `skillopt` and its doors `skillopt-train`, `skillopt-eval`, `scripts/*.py`, `python -m skillopt`.

Usage errors are one line and exit code 2, like every other error a user can correct.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from skillopt import __version__
from skillopt.cli import faults
from skillopt.cli.commands import data, judge, keeping, looking, model, runs, skills, steering, triggers, ui
from skillopt.cli.console import Screen
from skillopt.core.process import prepare_process

app = typer.Typer(
    name="skillopt",
    help="Train an agent's skill document: epochs, batches, a learning rate, a validation gate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
runs.register(app)
skills.register(app)
triggers.register(app)
looking.register(app)
keeping.register(app)
steering.register(app)
ui.register(app)
app.add_typer(data.app, name="data")
app.add_typer(judge.app, name="judge")
app.add_typer(model.app, name="model")

_USAGE_ERROR: type[BaseException] = next(k for k in typer.BadParameter.__mro__ if k.__name__ == "ClickException")
"""Typer ships its own copy of click or uses the installed one; either way this is the base of its usage errors."""


CHECK_USAGE = 3
"""`check` has exit codes of its own (`cli.keeping.check`): there 2 means "not measured"."""


def _print_version(asked: bool) -> None:
    if asked:
        Screen().line(f"skillopt {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Train an agent's skill document: epochs, batches, a learning rate, a validation gate."""
    del version


@cache
def _command() -> Callable[..., Any]:
    """The parsers of all commands, built once (fifty milliseconds); `app(...)` builds them at each call."""
    return get_command(app)


def invoke(arguments: list[str], name: str = "skillopt") -> int:
    """Run one command line; returns its exit code. Our own faults raise."""
    try:
        return int(_command()(args=arguments, prog_name=name, standalone_mode=False) or 0)
    except typer.Abort:
        Screen(sys.stderr).line("not started")
        return faults.INTERRUPTED
    except Exception as error:
        if not isinstance(error, _USAGE_ERROR):
            raise
        return _usage(error, name, CHECK_USAGE if arguments[:1] == ["check"] else faults.USER)
    except KeyboardInterrupt:
        return faults.INTERRUPTED


def _usage(error: BaseException, name: str, code: int) -> int:
    """One line for a misspelt command or option; the help where no command was given."""
    worded: Callable[[], str] | None = getattr(error, "format_message", None)
    message = worded() if worded is not None else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        Screen().line(message)
    elif message:
        Screen(sys.stderr).line(f"error: {' '.join(message.split())} (see {name} --help)")
    return code


def _door(*before: str) -> None:
    prepare_process()
    sys.exit(invoke([*before, *sys.argv[1:]]))


def main() -> None:
    """`skillopt`."""
    _door()


def train_main() -> None:
    """`skillopt-train`, `scripts/train.py`."""
    _door("train")


def eval_main() -> None:
    """`skillopt-eval`, `scripts/eval_only.py`."""
    _door("eval")


def data_main(name: str) -> None:
    """`scripts/materialize_<name>.py`."""
    _door("data", "get", name)
