"""S9, S16–S18, S24, S27, S37: what is read in, what is opened again, what is left on disk."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from skillopt.sleep import ingest as ingest_room
from skillopt.sleep.errors import StateError
from skillopt.sleep.ingest import IngestReport, ingest, sources_of
from skillopt.sleep.settings.schema import DEFAULTS
from skillopt.sleep.sources import lines
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.digests import DigestStore
from skillopt.sleep.state.paths import StatePaths, new_night_id
from tests.sleep.test_redact import CANARIES, IN_PLACE

NOW = 1772500000.0


class Desk:
    """A project, a home with sessions, and a state."""

    def __init__(self, root: Path) -> None:
        self.project = root / "shop"
        self.project.mkdir()
        self.home = root / "home"
        self.paths = StatePaths.of(root / "state", self.project)
        self.settings = DEFAULTS.__class__(
            claude_home=str(self.home / "c"),
            codex_home=str(self.home / "x"),
            copilot_home=str(self.home / "g"),
            opencode_db=":memory:",
        )

    def claude(self, name: str, said: list[tuple[str, str]], *, cwd: Path | None = None, at: str = "09") -> Path:
        path = self.home / "c" / "projects" / "-shop" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, object]] = []
        for n, (prompt, answer) in enumerate(said):
            common = {"cwd": str(cwd or self.project), "sessionId": name}
            rows.append(
                {"type": "user", "promptSource": "typed", "timestamp": f"2026-03-02T{at}:{n:02}:00Z", **common,
                 "message": {"content": prompt}}
            )  # fmt: skip
            content = [{"type": "text", "text": answer}]
            rows.append(
                {"type": "assistant", "timestamp": f"2026-03-02T{at}:{n:02}:30Z", **common,
                 "message": {"id": f"m{n}", "content": content}}
            )  # fmt: skip
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (NOW, NOW))
        return path

    def ingest(self, *, now: float = NOW) -> IngestReport:
        with StateDatabase(self.paths.digests) as database:
            return ingest(DigestStore(database), sources_of(self.settings), self.project, self.settings, now=now)

    def prompts(self) -> list[list[str]]:
        with StateDatabase(self.paths.digests) as database:
            return [[turn.prompt for turn in digest.turns] for digest in DigestStore(database).sessions()]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []
    real = lines.open_session

    def counting(path: Path) -> BinaryIO:
        seen.append(path)
        return real(path)

    monkeypatch.setattr(lines, "open_session", counting)
    return seen


def test_s18_of_two_thousand_files_only_the_changed_one_is_opened(desk: Desk, opened: list[Path]) -> None:
    first = desk.claude("s0", [("Do it", "Done")])
    text = first.read_text()
    elsewhere = text.replace(json.dumps(str(desk.project)), '"/somewhere/else"')
    for n in range(1, 2_000):
        path = first.with_name(f"s{n}.jsonl")
        path.write_text((text if n < 200 else elsewhere).replace('"s0"', f'"s{n}"'))
        os.utime(path, (NOW, NOW))
    assert desk.ingest().opened == len(opened) == 2_000
    opened.clear()
    changed = desk.claude("s77", [("Do it", "Done"), ("And this", "Yes")])
    report = desk.ingest()
    assert opened == [changed]
    assert (report.opened, report.sources[0].unchanged) == (1, 1_999)
    assert sum(len(prompts) for prompts in desk.prompts()) == 201
    opened.clear()
    desk.ingest()
    assert opened == []


def test_a_file_that_could_not_be_opened_is_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving the right to read it back changes neither its size nor its time."""
    desk.claude("s0", [("Do it", "Done")])

    def refused(path: Path) -> BinaryIO:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(lines, "open_session", refused)
        assert desk.ingest().sources[0].outcomes == {"unreadable": 1}
    assert desk.ingest().sources[0].outcomes == {"digest": 1}
    assert desk.prompts() == [["Do it"]]


def test_a_grown_session_replaces_its_digest_and_an_archived_one_stays_one(desk: Desk) -> None:
    desk.claude("a", [("One", "1")])
    desk.ingest()
    path = desk.claude("a", [("One", "1"), ("Two", "2")])
    desk.ingest()
    assert desk.prompts() == [["One", "Two"]]
    path.unlink()
    desk.ingest()
    assert desk.prompts() == [["One", "Two"]]


def test_s16_other_peoples_directories_are_opened_once_and_counted(desk: Desk, opened: list[Path]) -> None:
    desk.claude("home", [("Tidy up", "ok")], cwd=desk.project.parent)
    desk.claude("ours", [("Build it", "ok")])
    link = desk.project.parent / "link"
    link.symlink_to(desk.project)
    desk.claude("linked", [("Build it again", "ok")], cwd=link)
    path = desk.claude("nowhere", [("Hello", "ok")])
    path.write_text(path.read_text().replace(json.dumps(str(desk.project)), '""'))
    report = desk.ingest().sources[0]
    assert report.outcomes == {"digest": 2, "other_project": 1, "no_project": 1}
    assert sorted(desk.prompts()) == [["Build it"], ["Build it again"]]
    opened.clear()
    desk.ingest()
    assert opened == []


def test_s17_a_source_of_which_nothing_was_understood_is_loud_every_time(desk: Desk) -> None:
    path = desk.claude("a", [("One", "1")])
    path.write_text('{"kind":"v9.user","type":"v9"}\n')
    for _ in range(2):
        (warning,) = desk.ingest().warnings
        assert "0 of 1 files understood" in warning
        assert str(path.parent.parent) in warning
    desk.claude("b", [("One", "1")])
    assert desk.ingest().warnings == ()


def test_s9_a_session_is_read_once_whenever_it_ended(desk: Desk) -> None:
    desk.claude("early", [("One", "1")], at="01")
    assert desk.ingest().sources[0].digests == 1
    desk.claude("late", [("Two", "2")], at="03")
    assert desk.ingest().sources[0].digests == 1
    assert desk.prompts() == [["One"], ["Two"]]


def test_files_older_than_the_days_asked_for_are_not_opened(desk: Desk, opened: list[Path]) -> None:
    os.utime(desk.claude("old", [("One", "1")]), (NOW - 31 * 86_400, NOW - 31 * 86_400))
    report = desk.ingest().sources[0]
    assert (report.too_old, opened) == (1, [])


def test_s24_no_secret_reaches_the_store(desk: Desk) -> None:
    secrets = [*CANARIES.values()]
    said = [(f"use {secret} now", f"used {secret}") for secret in secrets]
    said += [(pattern.format(secret), pattern.format(secret)) for pattern, secret in IN_PLACE.values()]
    desk.claude("a", said)
    desk.ingest()
    text = json.dumps(desk.prompts(), ensure_ascii=False)
    with StateDatabase(desk.paths.digests) as database:
        text += "".join(turn.answer for digest in DigestStore(database).sessions() for turn in digest.turns)
    for secret in [*secrets, *(secret for _, secret in IN_PLACE.values())]:
        assert secret not in text
    raw = b"".join(path.read_bytes() for path in _files(desk.paths.root))
    assert not any(secret.encode() in raw for secret in secrets)


def test_s27_everything_is_the_users_alone(desk: Desk) -> None:
    before = os.umask(0o022)
    try:
        desk.claude("a", [("One", "1")])
        desk.ingest()
        desk.paths.make_in_project()
        desk.paths.night(new_night_id(NOW))
    finally:
        os.umask(before)
    places = [desk.paths.root, desk.paths.in_project]
    for path in (inner for place in places for inner in (place, *place.rglob("*"))):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert desk.paths.gitignore.read_text() == "*\n"


def test_s37_a_damaged_store_is_named_copied_and_not_replaced(desk: Desk) -> None:
    desk.claude("a", [("One", "1")])
    desk.ingest()
    for side in ("-wal", "-shm"):
        desk.paths.digests.with_name(desk.paths.digests.name + side).unlink(missing_ok=True)
    desk.paths.digests.write_bytes(b"not a database, " * 400)
    with pytest.raises(StateError, match=r"digests\.sqlite") as caught:
        desk.ingest()
    assert "\n" not in str(caught.value)
    (copy,) = desk.paths.home.glob("*.broken-*")
    assert copy.read_bytes() == desk.paths.digests.read_bytes()


def test_a_store_of_a_newer_program_and_a_foreign_one_are_refused(desk: Desk) -> None:
    with StateDatabase(desk.paths.digests) as database:
        database.run("PRAGMA user_version = 99")
    with pytest.raises(StateError, match="schema 99"):
        StateDatabase(desk.paths.digests)
    shutil.rmtree(desk.paths.home)
    with StateDatabase(desk.paths.digests) as database:
        database.run("PRAGMA application_id = 7")
    with pytest.raises(StateError, match="not a SkillOpt-Sleep database"):
        StateDatabase(desk.paths.digests)


def test_files_are_read_anew_when_a_reader_learnt_something(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.claude("a", [("One", "1")])
    desk.ingest()
    monkeypatch.setattr(ingest_room, "READERS_VERSION", "next")
    assert desk.ingest().opened == 1


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file())
