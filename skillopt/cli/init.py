"""`skillopt init`: a project for one's own tasks, and what its data can show."""

from __future__ import annotations

from pathlib import Path

from skillopt.api.project.projects import Project, ProjectRequest, make_project
from skillopt.api.shown.power import detectable_gain, items_to_prove, proves, shows
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.wording import plural


def run_init(asked: ProjectRequest) -> int:
    """`skillopt init`."""
    screen = Screen()
    made = make_project(asked)
    screen.line(f"Made {made.directory}: {', '.join(made.files)}")
    _say_sizes(screen, made)
    for text in made.warnings:
        screen.line(f"warning: {text}")
    step = "" if made.directory == Path(".") else f"cd {made.directory} && "
    screen.line(f"Next: {step}skillopt train --config config.yaml")
    return faults.DONE


def _say_sizes(screen: Screen, made: Project) -> None:
    screen.line(f"Items: {made.train} train, {made.selection} selection, {made.test} test")
    if made.cut:
        screen.line(f"Cut {made.cut}")
    screen.line(f"The selection split ({plural(made.selection, 'item')}) {proves(made.selection)}")
    screen.line(f"The test split ({plural(made.test, 'item')}) {shows(detectable_gain(made.test))}")
    if made.selection < items_to_prove(0.2):
        screen.line(
            f"hint: {items_to_prove(0.2)} selection items would prove 20 points, {items_to_prove(0.1)} would prove 10; "
            "add items or change env.split_ratio"
        )
