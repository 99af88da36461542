"""A check as GitHub Actions shows it: annotations at the changed lines, and a table in the job's summary and comment.

Texts come from items and paths, so they are escaped as the workflow commands and Markdown want it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.api.keeping.check import Checked
from skillopt.cli.console import Screen
from skillopt.cli.keeping.words import difference, headline, worth

SUMMARY = "GITHUB_STEP_SUMMARY"
COMMENT = "skillopt-check.md"
"""What the action's last step writes as a comment, in the runner's own directory."""
_LEVELS = {"regressed": "error", "not measured": "warning", "held": "notice"}
_MOST_LINES = 5


def write_github(screen: Screen, done: Sequence[Checked], environ: Mapping[str, str]) -> None:
    """Annotations to the log, the table to the summary's file."""
    for one in done:
        for text in annotated(one, Path(environ.get("GITHUB_WORKSPACE", "."))):
            screen.line(text)
    if environ.get(SUMMARY):
        with Path(environ[SUMMARY]).open("a", encoding="utf-8") as summary:
            summary.write(table(done))
    if environ.get("RUNNER_TEMP"):
        (Path(environ["RUNNER_TEMP"]) / COMMENT).write_text(table(done), encoding="utf-8")


def annotated(one: Checked, workspace: Path) -> list[str]:
    """One for each changed part of a skill that lost something; one for what could not be measured."""
    if one.standing == "held":
        return []
    file = one.suite.skill_file.resolve()
    if workspace.resolve() in file.parents:
        file = file.relative_to(workspace.resolve())
    lost = f"; lost: {', '.join(one.found.lost[:10])}" if one.found is not None and one.found.lost else ""
    text = _data(f"{headline(one)}{lost}")
    places = [f",line={line}" for line in one.changed_lines[:_MOST_LINES]] or [""]
    level = _LEVELS[one.standing]
    return [f"::{level} file={_property(file.as_posix())}{place},title=skillopt check::{text}" for place in places]


def table(done: Sequence[Checked]) -> str:
    """A Markdown table of all suites."""
    lines = ["### Skills", "", "| suite | verdict | difference | lost |", "|---|---|---|---|"]
    for one in done:
        found = one.found
        said = difference(found) if found is not None else one.reason
        if one.worth is not None:
            said += f"; against no skill {difference(one.worth)}: {worth(one.worth)}"
        lost = ", ".join(found.lost[:10]) if found is not None else ""
        under = f" under {one.target}" if one.target else ""
        lines.append(f"| {_cell(one.suite.name + under)} | {one.standing} | {_cell(said)} | {_cell(lost)} |")
    return "\n".join([*lines, "", ""])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
