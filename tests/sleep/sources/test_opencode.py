"""OpenCode's database, in the shape that version 1.18.33 was seen to write."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from skillopt.sleep.sources.opencode import OpenCode, default_database
from tests.sleep.sources.test_readers import ANY, SAMPLES, pairs


def _read(path: Path, script: str):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    reader = OpenCode(path)
    (file,) = reader.files()
    return reader.read(file, ANY)


def test_sessions_of_people_scripts_and_sub_agents(tmp_path: Path) -> None:
    reading = _read(tmp_path / "opencode.db", (SAMPLES / "opencode.sql").read_text())
    first, script = reading.digests
    assert (first.session_id, first.origin, script.session_id, script.origin) == (
        "ses_1",
        "unknown",
        "ses_3",
        "headless",
    )
    assert pairs(first) == [("Explain the cache", "It evicts the oldest."), ("No, shorter", "")]
    assert (first.tools_used, first.skills_used, first.files_touched) == (
        ("skill", "write"),
        (),
        ("/home/ana/shop/a.md",),
    )
    assert [turn.interrupted for turn in first.turns] == [False, True]
    assert (first.started_at, first.ended_at) == (1772442000.0, 1772442060.0)
    assert reading.counts.bad_sessions == 1


def test_another_schema_and_no_database_are_told(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.db", "CREATE TABLE session(id)").skip == "not_understood"
    assert list(OpenCode(tmp_path / "none.db").files()) == list(OpenCode(None).files()) == []
    (tmp_path / "b.db").write_bytes(b"no database at all, " * 100)
    (file,) = OpenCode(tmp_path / "b.db").files()
    assert OpenCode(tmp_path / "b.db").read(file, ANY).skip == "unreadable"


@pytest.mark.parametrize(
    ("environ", "named", "place"),
    [
        ({"HOME": "/h"}, "", "/h/.local/share/opencode/opencode.db"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d"}, "", "/d/opencode/opencode.db"),
        ({"HOME": "/h", "OPENCODE_DB": "x.db"}, "", "/h/.local/share/opencode/x.db"),
        ({"HOME": "/h", "OPENCODE_DB": "/o/x.db"}, "", "/o/x.db"),
        ({"HOME": "/h", "OPENCODE_DB": "/o/x.db"}, "/n/y.db", "/n/y.db"),
    ],
)
def test_where_the_database_lies(environ: dict[str, str], named: str, place: str) -> None:
    assert default_database(environ, named) == Path(place)


def test_a_database_in_memory_is_none() -> None:
    assert default_database({"OPENCODE_DB": ":memory:"}) is None
