"""The generated page of commands, from their own help; `pages` adds those of `skillopt.api.shown.reference`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.main import get_command

from skillopt.api.shown import reference
from skillopt.cli.main import app


def pages() -> dict[str, str]:
    """File name under `docs/reference/` to content."""
    return {**reference.pages(), "commands.md": commands()}


def commands() -> str:
    """Every command with its options."""
    parts = [
        "# Commands",
        reference.GENERATED,
        "Exit codes: 0 done (also when patience or a budget of the configuration ended the run), 1 stopped by a fault "
        "(dead endpoint), 2 something you can correct, 130 interrupted.",
        "`skillopt train` asks before it spends money, and the answer is No unless you type `y`. Without a terminal "
        "(a pipe, CI) it says so and starts without asking; `--yes` skips the question; `budget.max_usd` is the limit "
        "that always holds.",
    ]
    group: Any = get_command(app)
    for name, command in sorted(group.commands.items()):
        children: Mapping[str, Any] = getattr(command, "commands", {})
        if children:
            parts += [_command(f"{name} {child}", children[child]) for child in sorted(children)]
        else:
            parts.append(_command(name, command))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> str:
    lines = [f"## skillopt {name}", "", " ".join(str(command.help or "").split())]
    if command.epilog:
        lines += ["", " ".join(command.epilog.split())]
    rows = ["", "| option | meaning |", "|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = [*parameter.opts, *getattr(parameter, "secondary_opts", [])]
        if parameter.param_type_name == "argument":
            names = [str(parameter.name).upper()]
        meaning = " ".join(str(getattr(parameter, "help", "") or "").split()).replace("|", "\\|")
        rows.append(f"| {' '.join(f'`{n}`' for n in names)} | {meaning} |")
    return "\n".join([*lines, *(rows if len(rows) > 3 else [])])
