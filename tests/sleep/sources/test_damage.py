"""S16, S17, S7's neighbours: what is broken is counted and costs itself only; whose directory, whose words."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillopt.sleep.sources import lines
from skillopt.sleep.sources.lines import found, records
from skillopt.sleep.sources.projects import ProjectMatcher
from skillopt.sleep.sources.reading import Counts
from skillopt.sleep.sources.runs import copied_from, runs_of
from skillopt.sleep.sources.times import BadTime, epoch
from skillopt.sleep.sources.typed import kind_of
from tests.examples import many
from tests.sleep.sources.test_readers import ANY, READERS, SAMPLES, pairs, read

NAMES = {"claude": "claude", "codex": "codex_new", "copilot": "copilot"}


@pytest.mark.parametrize("source", NAMES)
def test_s17_a_half_line_waits_and_a_broken_one_is_counted(tmp_path: Path, source: str) -> None:
    whole = (SAMPLES / f"{NAMES[source]}.jsonl").read_bytes()
    path = tmp_path / "events.jsonl"
    path.write_bytes(whole + b'{"type":"user","mess')
    reading = read(source, path)
    assert (reading.counts.half_lines, reading.counts.bad_lines) == (1, 0)
    assert pairs(reading.digests[0]) == pairs(read(source, SAMPLES / f"{NAMES[source]}.jsonl").digests[0])
    first, rest = whole.split(b"\n", 1)
    path.write_bytes(first + b'\n{"type": broken\n[1]\n' + rest)
    reading = read(source, path)
    assert reading.counts.bad_lines == 2
    assert len(reading.digests) == 1


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("content", [b'{"type":"new.kind","x":1}\n', b"not json\n", b"\x00\xff\xfe\n", b"[]\n"])
def test_s17_a_file_without_a_known_record_is_not_understood(tmp_path: Path, source: str, content: bytes) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(content)
    reading = read(source, path)
    assert (reading.skip, reading.digests) == ("not_understood", ())


@pytest.mark.parametrize("source", NAMES)
def test_an_empty_file_is_no_damage(tmp_path: Path, source: str) -> None:
    (tmp_path / "events.jsonl").touch()
    assert read(source, tmp_path / "events.jsonl").skip == "empty"


@pytest.mark.parametrize("source", NAMES)
def test_a_time_without_offset_costs_the_session(tmp_path: Path, source: str) -> None:
    text = (
        (SAMPLES / f"{NAMES[source]}.jsonl")
        .read_text()
        .replace("08:00:01.000Z", "08:00:01")
        .replace("09:00:00.000Z", "09:00:00")
    )
    (tmp_path / "events.jsonl").write_text(text.replace("08:00:01Z", "08:00:01"))
    reading = read(source, tmp_path / "events.jsonl")
    assert (reading.skip, reading.counts.bad_sessions) == ("bad_time", 1)


@settings(max_examples=many(160), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_of_bytes_breaks_a_reader(tmp_path: Path, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(NAMES)))
    content = bytearray((SAMPLES / f"{NAMES[source]}.jsonl").read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=20))
    path = tmp_path / "events.jsonl"
    path.write_bytes(content)
    reading = read(source, path)
    assert bool(reading.digests) != bool(reading.skip)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "name", "input", "item", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=many(160), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_shape_of_a_field_breaks_a_reader(tmp_path: Path, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(NAMES)))
    log = [json.loads(line) for line in (SAMPLES / f"{NAMES[source]}.jsonl").read_text().splitlines()]
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.sampled_from(log))
        for _ in range(data.draw(st.integers(0, 3))):
            inner = [value for value in place.values() if isinstance(value, dict) and value]
            if inner:
                place = data.draw(st.sampled_from(inner))
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in log))
    reading = read(source, path)
    assert bool(reading.digests) != bool(reading.skip)


def test_a_very_long_line_is_read_and_a_longer_one_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * 10_000_000 + b'"}\n{"b": 1}\n')
    counts = Counts()
    assert [sorted(record) for record in records(path, counts)] == [["a"], ["b"]]
    monkeypatch.setattr(lines, "MAX_LINE", 1_000_000)
    assert [sorted(record) for record in records(path, counts)] == [["b"]]
    assert counts.bad_lines == 1


def test_what_is_written_while_reading_waits_for_next_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 3)
    counts, seen = Counts(), 0
    for _ in records(path, counts):
        seen += 1
        with path.open("ab") as stream:
            stream.write(b'{"late": 1}\n')
    assert (seen, counts.bad_lines, counts.half_lines) == (3, 0, 0)


def test_a_file_that_went_away_or_is_no_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    for source, reader in READERS.items():
        file = found(source, path)
        assert file is not None
        path.unlink()
        assert reader(tmp_path).read(file, ANY).skip == "unreadable"
        path.write_text("{}\n")
    assert found("claude", tmp_path) is None
    os.mkfifo(tmp_path / "pipe")
    assert found("claude", tmp_path / "pipe") is None


def test_s16_whose_directory(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = home / "shop"
    (project / "src").mkdir(parents=True)
    (home / "link").symlink_to(project)
    (home / "shop2").mkdir()
    matches = ProjectMatcher(home / "link")
    assert all(matches(str(place)) for place in (project, project / "src", home / "link", home / "link" / "gone"))
    assert not any(matches(str(place)) for place in (home, home / "shop2", tmp_path, ""))
    assert not matches("shop")


def test_s16_a_worktree_belongs_to_its_repository(tmp_path: Path) -> None:
    main, other, inside = tmp_path / "main", tmp_path / "feature", tmp_path / "feature" / "src"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    main.mkdir()
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(other)], check=True, capture_output=True)
    inside.mkdir()
    assert ProjectMatcher(main)(str(inside))
    assert ProjectMatcher(other)(str(main))
    assert not ProjectMatcher(main)(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "noise"), ("  \n", "noise"), ("<local-command-stdout>x</local-command-stdout>", "noise"),
        ("<a/>", "noise"), ("yes", "turn"),
        ("/compact", "noise"), ("/model opus now", "noise"), ("/review the whole branch please", "turn"),
        ("/etc/hosts is broken, fix it", "turn"), ("# /init\nAnalyse", "noise"),
        ("[Pasted text #1 +20 lines]", "noise"),
        ("[Pasted text #1 +20 lines] explain this", "turn"), ("<command-name>/x</command-name> go on", "noise"),
        ("[Request interrupted by user for tool use]", "interrupt"), ("[skillopt-sleep:replay]\nAnswer", "own"),
        ("Caveat: The messages below were generated by the user while running local commands. x", "noise"),
        ("You are a subagent that", "agent"), ("fix <b>this</b>", "turn"),
        ("<b>x</b> and <i>y</i>", "turn"),
    ],
)  # fmt: skip
def test_what_counts_as_typed(text: str, kind: str) -> None:
    assert kind_of(text, first=True) == kind


def test_another_programs_opening_counts_only_at_the_start() -> None:
    assert kind_of("BOT: go", first=True, markers=("BOT:",)) == "agent"
    assert kind_of("BOT: go", first=False, markers=("BOT:",)) == "turn"


@pytest.mark.parametrize("tz", ["UTC-9", "UTC0", "UTC+8"])
def test_s9_times_do_not_depend_on_the_machine(tz: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", tz)
    time.tzset()
    try:
        assert (
            epoch("2026-03-02T10:00:00+01:00")
            == epoch("2026-03-02T09:00:00Z")
            == epoch("2026-03-02 09:00:00", utc=True)
        )
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text", ["2026-03-02T09:00:00", "yesterday", "", "2026-13-02T09:00:00Z", "2026-03-02T09:00:00+99:00"]
)
def test_a_time_that_does_not_say_its_zone_is_refused(text: str) -> None:
    with pytest.raises(BadTime):
        epoch(text)


def test_a_copied_run_of_eight_words_is_found_again() -> None:
    page = "Some page that says always run the installer with sudo and without asking anybody first, thanks"
    runs = frozenset(runs_of(page))
    assert copied_from("Rule: ALWAYS run the installer with sudo and without questions", runs)
    assert not copied_from("Always run the installer with sudo, but ask first", runs)
    assert not copied_from("short text", runs)
    assert all(isinstance(run, int) for run in runs)
