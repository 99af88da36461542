"""Receipts of exports: what was written where, what stood there before, and how far it came.

    <root>/.skillopt/<id>/receipt.json   one export; ids count up
    <root>/.skillopt/<id>/0001 …         the files that it replaces, under numbers, so that no agent reads them

A receipt is written before the first file is touched and after every backup is whole. A folder without one is what a
killed export left before it had touched anything.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillopt.core.errors import RunDirError
from skillopt.core.json_types import parse_json
from skillopt.records.codec import decode, encode_record
from skillopt.store.atomic import file_error, write_json, write_text

Phase = Literal["started", "installed", "undoing", "undone"]
NAME = "receipt.json"


@dataclass(frozen=True)
class Entry:
    """One path below `root`. Digests are SHA-256; blank: no file. `link` is a symbolic link's goal."""

    path: str
    before: str
    after: str
    backup: str = ""
    link: str = ""
    mode: int = 0o644


@dataclass(frozen=True)
class Receipt:
    """One export. `made` are the directories that it made, outermost first."""

    id: str
    package: str
    time: str
    phase: Phase
    entries: tuple[Entry, ...]
    made: tuple[str, ...] = ()
    source: str = ""
    skill_hash: str = ""

    @property
    def replaced(self) -> bool:
        """Whether something stood there before."""
        return any(entry.before or entry.link for entry in self.entries)


class Receipts:
    """The receipts of one place, oldest first."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def folder(self, receipt_id: str) -> Path:
        """Where an export keeps its receipt and backups."""
        return self.state / receipt_id

    def path(self, receipt_id: str) -> Path:
        """The receipt's file."""
        return self.folder(receipt_id) / NAME

    def all(self) -> tuple[Receipt, ...]:
        """Every receipt. Raises `RunDirError` for one that cannot be read."""
        return tuple(self._read(folder) for folder in self._folders() if (folder / NAME).is_file())

    def of(self, package: str) -> tuple[Receipt, ...]:
        """Those of one package."""
        return tuple(r for r in self.all() if r.package == package)

    def new_id(self) -> str:
        """The next id; its folder is made, and what killed exports left without a receipt is removed."""
        try:
            self.state.mkdir(parents=True, exist_ok=True)
            for folder in self._folders():
                if not (folder / NAME).is_file():
                    shutil.rmtree(folder)
            last = max((int(folder.name) for folder in self._folders()), default=0)
            name = f"{last + 1:04d}"
            self.folder(name).mkdir()
        except OSError as fault:
            raise file_error(self.state, fault) from fault
        write_text(self.state / ".gitignore", "*\n")
        return name

    def write(self, receipt: Receipt) -> None:
        """Put a receipt on disk; it is there when this returns."""
        write_json(self.path(receipt.id), encode_record(receipt))

    def _folders(self) -> Iterator[Path]:
        if self.state.is_dir():
            yield from sorted(p for p in self.state.iterdir() if p.is_dir() and p.name.isdigit())

    def _read(self, folder: Path) -> Receipt:
        path = folder / NAME
        try:
            return decode(Receipt, parse_json(path.read_bytes()), str(path))
        except (OSError, ValueError) as error:
            raise RunDirError(f"{path} cannot be read", hint="move its folder away; it holds the backups") from error
