"""`skillopt export`: a skill as a package where agents find it, and the way back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.api.exporting import Exported, export, undo_export
from skillopt.cli import faults
from skillopt.cli.console import Screen


@dataclass(frozen=True)
class ExportArgs:
    """What was asked."""

    source: str | None
    to: str
    name: str
    description: str
    scope: Literal["project", "user"]
    project: Path
    undo: bool
    as_json: bool


def run_export(asked: ExportArgs) -> int:
    """`skillopt export`."""
    screen = Screen()
    if asked.undo:
        undone = undo_export(
            asked.to, source=asked.source, name=asked.name, scope=asked.scope, project=asked.project
        )  # fmt: skip
        body = {"undone": str(undone.path), "restored": undone.restored}
        words = "what stood there before is there again" if undone.restored else "nothing stood there before"
        screen.line(json.dumps(body, ensure_ascii=False) if asked.as_json else f"{undone.path}: taken back; {words}")
        return faults.DONE
    done = export(
        asked.source or ".", asked.to, name=asked.name, description=asked.description, scope=asked.scope,
        project=asked.project,
    )  # fmt: skip
    if asked.as_json:
        screen.line(json.dumps(_body(done), ensure_ascii=False, indent=2))
    else:
        _show(screen, done, asked)
    return faults.DONE


def _body(done: Exported) -> dict[str, object]:
    return {
        "name": done.name,
        "path": str(done.path),
        "receipt": str(done.receipt),
        "replaced": done.replaced,
        "provenance": done.provenance.to_json(),
        "warnings": [f.to_json() for f in done.warnings],
        "notes": list(done.notes),
    }


def _show(screen: Screen, done: Exported, asked: ExportArgs) -> None:
    screen.line(f"{done.name} → {done.path}  ({done.place.label})")
    screen.line(done.provenance.sentence)
    for text in done.provenance.changes:
        screen.line(f"changed: {text}")
    for f in done.warnings:
        screen.line(f"warning: line {f.line}: {f.message} [{f.rule}]")
    for text in done.notes:
        screen.line(f"note: {text}")
    kept = "; what stood there before is kept beside it" if done.replaced else ""
    screen.line(f"Receipt: {done.receipt}{kept}")
    scope = " --scope user" if asked.scope == "user" else ""
    elsewhere = f" --project {asked.project}" if asked.project != Path() else ""
    screen.line(f"Take it back: skillopt export --undo --to {asked.to} --name {done.name}{scope}{elsewhere}")
