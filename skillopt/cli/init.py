"""`skillopt init`: a project for one's own tasks, and what its data can show."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from skillopt.api.project.fields import Undecided
from skillopt.api.project.projects import Project, ProjectRequest, make_project
from skillopt.api.shown.power import detectable_gain, items_to_prove, proves, shows
from skillopt.cli import faults
from skillopt.cli.console import Screen
from skillopt.cli.wording import plural

_FIELDS = {"--answer-field": "answer_field", "--scorer": "scorer"}
_LINES, _WIDE = 24, 400


def run_init(asked: ProjectRequest) -> int:
    """`skillopt init`."""
    screen = Screen()
    made = _made(screen, asked)
    screen.line(f"Made {made.directory}: {', '.join(made.files)}")
    for text in made.said:
        screen.line(f"Chosen: {text}")
    _say_prompt(screen, made)
    _say_sizes(screen, made)
    for text in made.warnings:
        screen.line(f"warning: {text}")
    step = "" if made.directory == Path(".") else f"cd {made.directory} && "
    screen.line(f"Next: {step}skillopt train --config config.yaml")
    return faults.DONE


def _made(screen: Screen, asked: ProjectRequest) -> Project:
    """Make it; what only a person can say is asked for at a terminal, and refused with its flag without one."""
    while True:
        try:
            return make_project(asked)
        except Undecided as unclear:
            field = _FIELDS.get(unclear.flag, "")
            if not field or not screen.live or not sys.stdin.isatty():
                raise
            screen.line(unclear.message)
            answer = input(f"{unclear.flag}, one of {', '.join(unclear.options)}: ").strip()
            if not answer:
                raise
            asked = replace(asked, **{field: answer})


def _say_prompt(screen: Screen, made: Project) -> None:
    """One item as the model will see it, and its right answer."""
    if not made.prompt:
        return
    lines = made.prompt.strip().splitlines()
    screen.line("One item, as the model will see it:")
    for text in lines[:_LINES]:
        screen.line(f"  | {text if len(text) <= _WIDE else text[: _WIDE - 1] + '…'}")
    if len(lines) > _LINES:
        screen.line(f"  | … {len(lines) - _LINES} more lines")
    screen.line(f"  right answer: {made.gold or '(none)'}")


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
