"""`init`, `blame`, `diff`, `lint`, `export`, `review`, `ablate`: a beginning, a skill's lines, its delivery."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from skillopt.cli import faults
from skillopt.cli.commands.options import LEFTOVERS, OVERRIDES_HELP, Json, Yes

SCORERS = ("exact", "normalised", "contains", "numeric", "regex", "multiple_choice", "labels", "json_fields")
"""What `--scorer` takes by name."""
_SKILL = "A skill file, a run directory (its best skill), or a step of a run (<run>@3, <run>@initial)."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (
        ("init", init),
        ("blame", blame),
        ("diff", diff),
        ("lint", lint),
        ("export", export),
        ("review", review),
    ):
        app.command(name)(command)
    app.command("ablate", context_settings=LEFTOVERS, epilog=OVERRIDES_HELP)(ablate)


def init(
    directory: Annotated[Path, typer.Argument(help="Where to make the project.")] = Path("."),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Your items (JSON, JSONL, CSV, TSV, Parquet, hf://…); they are copied. Default: a sample."
        ),
    ] = None,
    scorer: Annotated[
        str, typer.Option("--scorer", help=f"When an answer is right: {', '.join(SCORERS)}, or module:function.")
    ] = "",
    answer_field: Annotated[str, typer.Option("--answer-field", help="The field with the right answer.")] = "",
    ratio: Annotated[
        str, typer.Option("--split-ratio", help="train:selection:test. Default: by the number of items.")
    ] = "",
    backend: Annotated[str, typer.Option("--backend", help="local, openai, openai_compatible or scripted.")] = "local",
    skill: Annotated[
        Path | None,
        typer.Option("--skill", help="A skill you have, a file or a directory with a SKILL.md; it is copied."),
    ] = None,
    effort: Annotated[
        str, typer.Option("--effort", help="light, medium or heavy: writes what the preset makes of the data's size.")
    ] = "",
) -> None:
    """Make a project for your own tasks: configuration, data, initial skill, README."""

    def action() -> int:
        from skillopt.api.project.projects import ProjectRequest
        from skillopt.cli.init import run_init

        return run_init(ProjectRequest(directory, data, scorer, answer_field, ratio, backend, effort, skill))

    faults.run(action)


def blame(
    skill: Annotated[
        str,
        typer.Argument(
            help="A skill file of a run (<run>/best_skill.md), one of its lines (best_skill.md:12 or :12-20), a run "
            "directory, or a step of it (<run>@3).",
            show_default=False,
        ),
    ],
    run: Annotated[
        Path | None, typer.Option("--run", help="The run that the file came from, when it lies elsewhere.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say where each line of a skill comes from: edit, step, rollouts, and the verdict that let it in."""

    def action() -> int:
        from skillopt.cli.explaining.blame import run_blame

        return run_blame(skill, run, as_json=as_json)

    faults.run(action)


def diff(
    a: Annotated[str, typer.Argument(help=_SKILL, show_default=False)],
    b: Annotated[str, typer.Argument(help="The other one.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Compare two skills line by line: what changed, which edits brought it, and how the size moved."""

    def action() -> int:
        from skillopt.cli.explaining.diff import run_diff

        return run_diff(a, b, as_json=as_json)

    faults.run(action)


def lint(
    skill: Annotated[
        Path, typer.Argument(help="A skill file, a directory with a SKILL.md, or a run directory.", show_default=False)
    ],
    config: Annotated[
        Path | None, typer.Option("--config", help="The configuration that knows the data, for the leakage rules.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    as_json: Json = False,
) -> None:
    """Check a skill: header, links, rules said twice or against each other, shouting, secrets, copied data.

    Exit code 0 without errors, 1 with errors, 2 when it could not be checked.
    """

    def action() -> int:
        from skillopt.cli.explaining.lint import run_lint

        return run_lint(skill, config, strict=strict, as_json=as_json)

    faults.run(action)


def export(
    source: Annotated[
        str | None, typer.Argument(help=f"{_SKILL} Or a directory with a SKILL.md.", show_default=False)
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="claude, codex, copilot, cursor, gemini, opencode (their skills folder), a directory, zip, or an "
            "archive's path.",
            show_default=False,
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", help="The skill's name, if its header has none or another.")] = "",
    description: Annotated[
        str, typer.Option("--description", help="What it does and when to use it; agents choose a skill by that.")
    ] = "",
    scope: Annotated[
        str, typer.Option("--scope", help="project, or user: the agent's folder in your home directory.")
    ] = "project",
    project: Annotated[Path, typer.Option("--project", help="The project that gets it.")] = Path("."),
    undo: Annotated[bool, typer.Option("--undo", help="Take the last export to that place back.")] = False,
    as_json: Json = False,
) -> None:
    """Install a skill where an agent finds it, or pack it: a valid package with the proof of what it gained.

    Trainer's markers are left out, the package is linted, and what stood there before can be put back with --undo.
    """

    def action() -> int:
        from skillopt.cli.export import ExportArgs, run_export

        where: Literal["project", "user"] = "user" if scope == "user" else "project"
        if not to or scope not in ("project", "user") or (source is None and not undo):
            raise typer.BadParameter(_missing(to, scope))
        return run_export(ExportArgs(source, to, name, description, where, project, undo, as_json))

    faults.run(action)


def _missing(to: str, scope: str) -> str:
    if not to:
        return "say where it goes: --to claude, codex, copilot, cursor, gemini, opencode, a directory, or zip"
    if scope not in ("project", "user"):
        return f"--scope {scope}: write project or user"
    return "say what is exported: a run directory, a skill file, or a directory with a SKILL.md"


def ablate(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="The run directory, or a step of it (<run>@3).", show_default=False)],
    config: Annotated[
        Path | None, typer.Option("--config", help="Instead of <run>/config.yaml, when data or skill have moved.")
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="The items to measure on: selection, train, or test (which is then seen).")
    ] = "selection",
    prune: Annotated[
        bool, typer.Option("--prune", help="Leave out what pays nothing, and write pruned_skill.md if it is not worse.")
    ] = False,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Prune edits whose estimate is at most this.", min=-1, max=1)
    ] = 0.0,
    margin: Annotated[
        float,
        typer.Option("--margin", help="The pruned skill must be shown not to lose this much.", min=0.001, max=0.9),
    ] = 0.05,
    measure: Annotated[
        bool, typer.Option("--measure", help="Leave each line out even where a factorial run knows its effect.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Measure what each edit is worth by leaving it out, on the same items; with --prune, drop what pays nothing.

    What the run has paid for is free; of a factorial run the effects that it measured are shown. Results go to
    <run>/ablation.
    """

    def action() -> int:
        from skillopt.api.ablating import Wish
        from skillopt.cli.explaining.ablate import AblationRequest, run_ablation

        wish = Wish(split, prune, threshold, margin)
        return run_ablation(AblationRequest(run, config, wish, yes, as_json, measure), context.args)

    faults.run(action)


def review(
    run: Annotated[Path, typer.Argument(help="The run directory.", show_default=False)],
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="A change that stays as it is; its name is in the list.")
    ] = None,
    refuse: Annotated[list[str] | None, typer.Option("--refuse", help="A change that is taken out.")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--change", help="NAME=FILE: a change whose lines become those of the file.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="Why; kept with the decisions.")] = "",
    by: Annotated[str, typer.Option("--by", help="Who decides. Default: your account's name.")] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the text that the decisions leave, on the selection items.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Decide about each change of a run's skill; what that leaves is measured before it becomes <run>@reviewed."""

    def action() -> int:
        from skillopt.cli.explaining.review import ReviewRequest, run_review

        return run_review(ReviewRequest(run, accept or (), refuse or (), change or (), note, by, measure, as_json))

    faults.run(action)
