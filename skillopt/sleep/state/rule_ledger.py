"""What the companion knows about its rules and nights, kept over all nights of a project.

One SQLite file of small JSON records: rules by target and id, nights, and the evidence of proposals that are still
open. A file that cannot be read is copied aside and named in the error; nothing continues with an empty one.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal, cast

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.sleep.errors import StateError
from skillopt.sleep.proposal.rules import STATES, Rule, State
from skillopt.sleep.state.private import make_directory

NAME = "rules.sqlite"
_VERSION = 1
_APPLICATION = 0x534B5255
Kind = Literal["rule", "night", "open", "sync"]


class RuleLedger:
    """The ledger of one project. Each write is committed at once."""

    def __init__(self, home: Path) -> None:
        """Open or make the file in the project's state directory. Raises `StateError`."""
        self.path = home / NAME
        make_directory(home)
        try:
            self._db = sqlite3.connect(self.path, timeout=5.0, isolation_level=None)
            self.path.chmod(0o600)
            self._migrate()
        except sqlite3.DatabaseError as fault:
            raise self._broken(fault) from fault

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def rules(self, target: str | None = None) -> list[Rule]:
        """Every rule ever proposed, of one target or all, in the order of their ids."""
        found = (_rule_of(value) for _, value in self._all("rule"))
        return [rule for rule in found if target is None or rule.target == target]

    def in_force(self, target: str) -> dict[str, str]:
        """The texts by id of the rules in force in one target: the lines that are the companion's there."""
        return {rule.id: rule.text for rule in self.rules(target) if rule.state == "in_force"}

    def rejected(self) -> dict[str, str]:
        """Rules that were turned down, with the reason."""
        return {rule.id: rule.reason for rule in self.rules() if rule.state == "rejected"}

    def get(self, target: str, rule_id: str) -> Rule | None:
        """One rule."""
        value = self._get("rule", f"{target}/{rule_id}")
        return None if value is None else _rule_of(value)

    def put(self, rule: Rule) -> None:
        """Keep a rule."""
        self._put("rule", f"{rule.target}/{rule.id}", cast("JsonObject", asdict(rule)))

    def mark(self, target: str, rule_id: str, state: State, *, reason: str = "") -> None:
        """A rule's new state; a rule nobody knows is left alone."""
        rule = self.get(target, rule_id)
        if rule is not None and (rule.state != state or reason):
            self.put(replace(rule, state=state, reason=reason))

    def nights(self) -> list[dict[str, JsonValue]]:
        """The history, oldest first."""
        return [as_object(value) for _, value in self._all("night")]

    def nights_after(self, night: str) -> int:
        """How many nights were finished since one."""
        return sum(as_text(row.get("night")) > night for row in self.nights())

    def put_night(self, night: str, row: JsonObject) -> None:
        """Keep or replace a night's row."""
        self._put("night", night, row)

    def open_proposals(self) -> dict[str, dict[str, JsonValue]]:
        """Evidence so far of proposals that are neither proven nor turned down, by proposal id."""
        return {key: as_object(value) for key, value in self._all("open")}

    def put_open(self, proposal: str, row: JsonObject) -> None:
        """Keep the evidence of an open proposal."""
        self._put("open", proposal, row)

    def close_proposals(self, proposals: Sequence[str]) -> None:
        """Forget the evidence of proposals that were decided."""
        for proposal in proposals:
            self._run("DELETE FROM records WHERE kind = 'open' AND name = ?", (proposal,))

    def synced(self, night: str) -> int:
        """How many receipts of a night the ledger has taken in."""
        return int(as_number(as_object(self._get("sync", night)).get("receipts")) or 0)

    def set_synced(self, night: str, receipts: int) -> None:
        """Remember how many were taken in."""
        if receipts != self.synced(night):
            self._put("sync", night, {"receipts": receipts})

    def _all(self, kind: Kind) -> Iterator[tuple[str, JsonValue]]:
        rows = self._run("SELECT name, value FROM records WHERE kind = ? ORDER BY name", (kind,))
        for name, value in rows:
            yield str(name), parse_json(str(value))

    def _get(self, kind: Kind, name: str) -> JsonValue:
        rows = self._run("SELECT value FROM records WHERE kind = ? AND name = ?", (kind, name))
        return parse_json(str(rows[0][0])) if rows else None

    def _put(self, kind: Kind, name: str, value: JsonObject) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        self._run("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (kind, name, text))

    def _run(self, statement: str, values: tuple[str, ...]) -> list[tuple[object, ...]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as fault:
            raise self._broken(fault) from fault

    def _migrate(self) -> None:
        version, application = (
            int(self._db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("user_version", "application_id")
        )
        if version > _VERSION or (version and application != _APPLICATION):
            raise StateError(f"{self.path}: schema {version} is not known here", hint="update skillopt")
        if version == 0:
            self._db.executescript(
                "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS records"
                " (kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
                f" PRIMARY KEY (kind, name)) WITHOUT ROWID; PRAGMA application_id = {_APPLICATION};"
                f" PRAGMA user_version = {_VERSION}; COMMIT;"
            )

    def _broken(self, fault: sqlite3.DatabaseError) -> StateError:
        if isinstance(fault, sqlite3.OperationalError) and "locked" in str(fault):
            return StateError(f"{self.path}: held by another program", hint="run the command again")
        aside = self.path.with_name(f"{NAME}.broken-{int(time.time())}")
        if self.path.is_file():
            shutil.copyfile(self.path, aside)
            aside.chmod(0o600)
        return StateError(f"{self.path}: {fault}", hint=f"a copy is {aside}; restore or remove the file")


def _rule_of(value: JsonValue) -> Rule:
    entry = as_object(value)
    origin = as_text(entry.get("origin"))
    by_name: dict[str, State] = {state: state for state in STATES}
    return Rule(
        id=as_text(entry.get("id")),
        text=as_text(entry.get("text")),
        target=as_text(entry.get("target")),
        night=as_text(entry.get("night")),
        evidence=tuple(as_text(e) for e in as_array(entry.get("evidence"))),
        wins=int(as_number(entry.get("wins")) or 0),
        losses=int(as_number(entry.get("losses")) or 0),
        last_measured=as_text(entry.get("last_measured")),
        measured_on=as_text(entry.get("measured_on")),
        expiry=int(as_number(entry.get("expiry")) or 0),
        origin="user" if origin == "user" else "learned",
        replaces=as_text(entry.get("replaces")),
        state=by_name.get(as_text(entry.get("state")), "proposed"),
        reason=as_text(entry.get("reason")),
    )
