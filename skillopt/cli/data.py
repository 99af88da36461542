"""What `skillopt data get | check | list` show; `skillopt.api.datasets` does the work."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from skillopt.api import datasets
from skillopt.api.datasets import Request
from skillopt.cli import faults
from skillopt.cli.console import Screen


def run_get(name: str, request: Request, *, sample: bool) -> int:
    """`skillopt data get`: progress on standard error, the result on standard output."""
    written = datasets.get(name, replace(request, report=Screen(sys.stderr).line), sample=sample)
    licence = written.manifest.get("licence", "")
    Screen().line(f"{written.directory}: {written.sizes} items (train / val / test); licence: {licence}")
    return faults.DONE


def run_check(name: str, directory: Path | None) -> int:
    """`skillopt data check`: a line for each directory; exit code 2 where something is wrong."""
    screen = Screen()
    found = datasets.check(name, directory)
    for each in found:
        screen.line(f"{each.name}: {each.directory}: {'; '.join(each.problems) or 'in order'}")
    if not found:
        screen.line("no benchmark's data is here; fetch some: skillopt data get NAME (or --sample)")
    return faults.USER if any(each.problems for each in found) else faults.DONE


def show_list() -> int:
    """`skillopt data list`."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "splits (train / val / test)", "licence", "present"):
        table.add_column(column, overflow="fold", no_wrap=column == "name")
    for each in datasets.listed():
        splits = "; ".join(f"{name}: {sizes}" for name, sizes in each.splits) or "ratio"
        present = ", ".join(str(place) for place in each.present) or "no"
        table.add_row(each.name, splits, each.licence, present)
    Console().print(table)
    return faults.DONE
