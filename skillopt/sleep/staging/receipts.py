"""What became of a staged night: one entry for each change of a live file, and for each rejection.

An entry is written as `applying` before the live file is touched and as `done` after it; a crash in between is settled
by comparing three hashes (before, after, something else). Whatever else remembers an adoption is derived from here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from skillopt.core.json_types import JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.sleep.errors import StagingError
from skillopt.sleep.proposal.rules import RuleEdit
from skillopt.sleep.staging.manifest import edit_json, edit_of
from skillopt.sleep.state.private import write_text

Act = Literal["adopted", "reverted", "rejected"]
State = Literal["applying", "done", "lost"]
"""`lost`: the live file is neither what it was nor what it should become; somebody else changed it."""


@dataclass(frozen=True)
class Receipt:
    """One entry. A rejection has no file; `why` is the person's reason. `edits` are what was done to the document."""

    act: Act
    state: State
    target: str
    at: float
    rules: tuple[str, ...] = ()
    live_path: str = ""
    live_realpath: str = ""
    sha256_before: str = ""
    sha256_after: str = ""
    backup: str = ""
    """Name below `backup/`; blank where there was no file before."""
    edits: tuple[RuleEdit, ...] = ()
    why: str = ""


def receipts_path(directory: Path) -> Path:
    """Of a staged night."""
    return directory / "receipts.json"


def read_receipts(directory: Path) -> list[Receipt]:
    """All entries in the order in which they happened. Raises `StagingError`."""
    path = receipts_path(directory)
    try:
        entries = as_array(parse_json(path.read_bytes()))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as fault:
        raise StagingError(f"{path}: cannot be read ({fault})") from fault
    return [_of(as_object(entry), path) for entry in entries]


def write_receipts(directory: Path, receipts: Sequence[Receipt]) -> None:
    """Replace the file, whole or not at all."""
    text = json.dumps([_json(r) for r in receipts], ensure_ascii=False, indent=2) + "\n"
    write_text(receipts_path(directory), text)


def _json(receipt: Receipt) -> dict[str, JsonValue]:
    return {
        "act": receipt.act,
        "state": receipt.state,
        "target": receipt.target,
        "live_path": receipt.live_path,
        "live_realpath": receipt.live_realpath,
        "sha256_before": receipt.sha256_before,
        "sha256_after": receipt.sha256_after,
        "backup": receipt.backup,
        "rules": list(receipt.rules),
        "edits": [edit_json(edit) for edit in receipt.edits],
        "why": receipt.why,
        "at": receipt.at,
    }


def _of(entry: dict[str, JsonValue], path: Path) -> Receipt:
    act, state = entry.get("act"), entry.get("state")
    if act not in get_args(Act) or state not in get_args(State):
        raise StagingError(f"{path}: an entry says {act!r}, {state!r}")
    return Receipt(
        act=cast("Act", act),
        state=cast("State", state),
        target=as_text(entry.get("target")),
        at=as_number(entry.get("at")) or 0.0,
        rules=tuple(as_text(r) for r in as_array(entry.get("rules"))),
        live_path=as_text(entry.get("live_path")),
        live_realpath=as_text(entry.get("live_realpath")),
        sha256_before=as_text(entry.get("sha256_before")),
        sha256_after=as_text(entry.get("sha256_after")),
        backup=as_text(entry.get("backup")),
        edits=tuple(edit_of(e) for e in as_array(entry.get("edits"))),
        why=as_text(entry.get("why")),
    )
