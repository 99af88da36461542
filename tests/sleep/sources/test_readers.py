"""S11–S14: the readers on the sample logs of each format and on recorded sessions of the real programs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.sleep.digest import SENTINEL, SessionDigest
from skillopt.sleep.sources.claude import Claude
from skillopt.sleep.sources.codex import Codex
from skillopt.sleep.sources.copilot_cli import CopilotCli
from skillopt.sleep.sources.lines import found
from skillopt.sleep.sources.reading import Reading, Source, Wanted

SAMPLES = Path(__file__).parent / "samples"
RECORDED = Path("/work/shared/tools/transcripts")
ANY = Wanted(lambda directory: bool(directory))
READERS: dict[str, Callable[[Path], Source]] = {"claude": Claude, "codex": Codex, "copilot": CopilotCli}


def read(source: str, path: Path, wanted: Wanted = ANY) -> Reading:
    reader = READERS[source](path.parent)
    file = found(reader.name, path)
    assert file is not None
    return reader.read(file, wanted)


def only(reading: Reading) -> SessionDigest:
    assert reading.skip == ""
    (digest,) = reading.digests
    return digest


def write(path: Path, records: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]


def pairs(digest: SessionDigest) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.answer) for turn in digest.turns]


def test_s11_claude_sample() -> None:
    digest = only(read("claude", SAMPLES / "claude.jsonl"))
    assert digest.origin == "human"
    assert pairs(digest) == [
        ("Write the changelog entry for 1.4", "Added: ..."),
        ("No, breaking changes go first", "Breaking: ... Added: ..."),
    ]
    assert (digest.skills_used, digest.tools_used, digest.files_touched) == (
        ("changelog",),
        ("Skill",),
        ("CHANGELOG.md",),
    )
    assert (digest.session_id, digest.git_branch, digest.project) == ("5f0c", "main", "/home/ana/shop")
    assert digest.turns[0].skills == ("changelog",)
    assert digest.turns[0].at == 1772442000.0


def test_s11_lines_off_the_live_branch_are_not_read(tmp_path: Path) -> None:
    log = rows("claude")
    rewound = [
        {**log[7], "uuid": "x5", "parentUuid": "a3", "message": {"role": "user", "content": "Forget it, write a poem"}},
        {**log[8], "uuid": "x6", "parentUuid": "x5"},
    ]
    assert "poem" not in str(pairs(only(read("claude", write(tmp_path / "a.jsonl", [*log[:7], *rewound, *log[7:]])))))


def test_s11_lines_after_the_last_leaf_that_go_on_from_it_are_read(tmp_path: Path) -> None:
    log = [*rows("claude")[:9], {"type": "last-prompt", "leafUuid": "a3", "sessionId": "5f0c"}]
    assert len(only(read("claude", write(tmp_path / "a.jsonl", log))).turns) == 2


def test_s11_sidechain_interruption_several_blocks_and_api_failures(tmp_path: Path) -> None:
    log = rows("claude")[:7]
    human = {"origin": {"kind": "human"}, "promptSource": "typed", "timestamp": "2026-03-02T09:02:00Z"}
    talk: list[dict[str, object]] = [
        {"type": "user", "uuid": "s", "parentUuid": "a3", "isSidechain": True, **human, "message": {"content": "side"}},
        {"type": "user", "uuid": "b1", "parentUuid": "a3", **human, "message": {"content": "And the date?"}},
        _said("b2", "b1", "m7", "One"),
        _said("b3", "b2", "m7", "Two"),
        {**_said("b4", "b3", "m8", "API Error: 500"), "isApiErrorMessage": True},
        {"type": "user", "uuid": "b5", "parentUuid": "b4", "timestamp": "2026-03-02T09:03:00Z",
         "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}},
    ]  # fmt: skip
    digest = only(read("claude", write(tmp_path / "a.jsonl", [*log, *talk])))
    assert pairs(digest)[1] == ("And the date?", "One\nTwo")
    assert [turn.interrupted for turn in digest.turns] == [False, True]


def _said(uuid: str, parent: str, message: str, words: str) -> dict[str, object]:
    block = {"id": message, "role": "assistant", "model": "m", "content": [{"type": "text", "text": words}]}
    return {
        "type": "assistant",
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-03-02T09:02:30Z",
        "message": block,
    }


@pytest.mark.parametrize(
    ("fields", "origin"),
    [
        ({"promptSource": "sdk", "entrypoint": "sdk-cli"}, "headless"),
        ({"turnOrigin": "sdk"}, "headless"),
        ({"entrypoint": "cli"}, "human"),
        ({"origin": {"kind": "task-notification"}}, "hook"),
        ({}, "unknown"),
        ({"isSidechain": True, "entrypoint": "cli"}, "subagent"),
    ],
)
def test_s11_who_was_at_the_keyboard(tmp_path: Path, fields: dict[str, object], origin: str) -> None:
    line = {"type": "user", "cwd": "/p", "timestamp": "2026-03-02T09:00:00Z", "message": {"content": "Do it"}, **fields}
    assert only(read("claude", write(tmp_path / "a.jsonl", [line]))).origin == origin


def test_s11_a_broken_chain_is_read_in_file_order_and_counted(tmp_path: Path) -> None:
    log = [row for row in rows("claude") if row.get("uuid") != "a1"]
    reading = read("claude", write(tmp_path / "a.jsonl", log))
    assert reading.counts.broken_chains == 1
    assert len(only(reading).turns) == 2


def test_s12_codex_samples() -> None:
    new, old = only(read("codex", SAMPLES / "codex_new.jsonl")), only(read("codex", SAMPLES / "codex_old.jsonl"))
    for digest in (new, old):
        assert digest.origin == "human"
        assert pairs(digest) == [("Add a retry to the client", "Added.")]
    assert new.tools_used == ("exec_command",)
    assert (new.git_branch, new.session_id, old.session_id) == ("main", "019c", "019d")


def test_s12_items_alone_leave_out_what_the_program_put_before_them(tmp_path: Path) -> None:
    log = [row for row in rows("codex_old") if row["type"] != "event_msg"]
    preamble = "# AGENTS.md instructions for /home/ana/shop\n<INSTRUCTIONS>\nBe brief\n</INSTRUCTIONS>"
    for before in (
        preamble,
        preamble + "<environment_context>x</environment_context>",
        "<user_instructions>y</user_instructions>",
    ):
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": before}]}
        line = {"timestamp": "2026-03-02T08:00:00.500Z", "type": "response_item", "payload": item}
        digest = only(read("codex", write(tmp_path / "rollout-a.jsonl", [log[0], line, *log[1:]])))
        assert pairs(digest) == [("Add a retry to the client", "Added.")]


@pytest.mark.parametrize(
    ("meta", "origin"),
    [
        ({"originator": "codex_exec", "source": "exec"}, "headless"),
        ({"originator": "codex-tui", "source": {"subagent": "review"}}, "subagent"),
        ({"originator": "codex-tui", "thread_source": "subagent"}, "subagent"),
        ({"originator": "somebody"}, "unknown"),
    ],
)
def test_s12_sessions_that_no_person_typed(tmp_path: Path, meta: dict[str, object], origin: str) -> None:
    log = rows("codex_old")
    log[0] = {**log[0], "payload": {"id": "1", "cwd": "/p", **meta}}
    assert only(read("codex", write(tmp_path / "rollout-a.jsonl", log))).origin == origin


def test_s12_the_live_folder_wins_over_the_archive(tmp_path: Path) -> None:
    for place, cwd in (("sessions/2026/03/02", "/live"), ("archived_sessions", "/archived")):
        log = rows("codex_old")
        log[0] = {**log[0], "payload": {"id": "1", "cwd": cwd, "originator": "codex-tui"}}
        write(tmp_path / place / "rollout-2026-03-02T08-00-00-1.jsonl", log)
    write(tmp_path / "archived_sessions" / "rollout-2026-03-02T08-00-00-2.jsonl", rows("codex_old"))
    reader = Codex(tmp_path)
    assert [only(reader.read(file, ANY)).project for file in reader.files()] == ["/live", "/home/ana/shop"]


def test_s12_a_fork_does_not_repeat_its_parent(tmp_path: Path) -> None:
    log = rows("codex_old")
    meta = {"id": "f", "cwd": "/p", "originator": "codex-tui", "forked_from_id": "019d"}
    fork = {"timestamp": "2026-03-02T09:00:00Z", "type": "session_meta", "payload": meta}
    own = {
        "timestamp": "2026-03-02T09:01:00Z",
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "Now test it"},
    }
    assert pairs(only(read("codex", write(tmp_path / "rollout-f.jsonl", [fork, *log, own])))) == [("Now test it", "")]


def test_s13_copilot_sample() -> None:
    digest = only(read("copilot", SAMPLES / "copilot.jsonl"))
    assert digest.origin == "human"
    assert pairs(digest) == [("Bump the version", "Done: 1.4.1"), ("Still wrong, use 1.5", "Done: 1.5.0")]
    assert (digest.tools_used, digest.git_branch, digest.git_commit) == (("bash",), "main", "0e1f")


def test_s13_headless_abort_ephemeral_and_neighbour_file(tmp_path: Path) -> None:
    log = rows("copilot")
    log[0] = {**log[0], "data": {"sessionId": "9a"}}
    log[2] = {**log[2], "data": {"content": "You run in non-interactive mode"}}
    log.append(
        {"type": "user.message", "ephemeral": True, "data": {"content": "passing"}, "timestamp": "2026-03-02T08:02:00Z"}
    )
    log.append({"type": "abort", "data": {}, "timestamp": "2026-03-02T08:02:01Z"})
    path = write(tmp_path / "9a" / "events.jsonl", log)
    assert read("copilot", path).skip == "no_project"
    path.with_name("workspace.yaml").write_text("id: 9a\ncwd: /home/ana/shop\nbranch: next\n")
    digest = only(read("copilot", path))
    assert (digest.origin, digest.project, digest.git_branch) == ("headless", "/home/ana/shop", "next")
    assert [turn.interrupted for turn in digest.turns] == [False, True]


STORE = (SAMPLES / "store.sql").read_text()


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_s13_the_database_gives_sessions_without_an_event_file(tmp_path: Path, journal: str) -> None:
    write(tmp_path / "session-state" / "9a" / "events.jsonl", rows("copilot"))
    with sqlite3.connect(tmp_path / "session-store.db") as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.executescript(STORE)
    reader = CopilotCli(tmp_path)
    readings = [reader.read(file, ANY) for file in reader.files()]
    connection.close()
    assert [digest.session_id for reading in readings for digest in reading.digests] == ["9a", "s1"]
    stored = only(readings[1])
    assert pairs(stored) == [("Bump the version", "Done: 1.4.1"), ("still wrong, use 1.5", "Done: 1.5.0")]
    assert (stored.origin, stored.files_touched) == ("unknown", ("/home/ana/shop/pyproject.toml",))
    assert (stored.started_at, stored.ended_at) == (1772438400.0, 1772439600.0)


def test_s13_a_resumed_session_is_one_session(tmp_path: Path) -> None:
    log = rows("copilot")
    log.append({"type": "session.resume", "data": {}, "timestamp": "2026-03-03T08:00:00Z"})
    log.append({"type": "user.message", "data": {"content": "And tag it"}, "timestamp": "2026-03-03T08:00:01Z"})
    digest = only(read("copilot", write(tmp_path / "9a" / "events.jsonl", log)))
    assert (len(digest.turns), digest.session_id) == (3, "9a")


HEADLESS = [("Greet me: follow the greet skill.", "Done: answer.txt holds the greeting; nope.txt does not exist.")]
TYPED = [
    ("Write the changelog entry for 1.4", "Added the 1.4 entry to CHANGELOG.md."),
    ("No, breaking changes go first", "Moved the breaking change to the top."),
    ("Good, that is what I want", "Glad it fits."),
]


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded sessions of the real programs are not on this machine")
@pytest.mark.parametrize(
    "name",
    [
        "claude-2.1.197.session", "claude-2.1.197.interactive.session", "claude-2.1.332.session",
        "claude-2.1.332.interactive.session", "codex-0.171.0.rollout", "codex-0.171.0.interactive.rollout",
        "copilot-1.0.102.events", "copilot-1.0.102.interactive.events",
    ],
)  # fmt: skip
def test_s14_recorded_sessions_give_the_digests_their_readme_states(name: str) -> None:
    source, typed = name.split("-")[0], "interactive" in name
    digest = only(read(source, RECORDED / f"{name}.cut.jsonl"))
    assert pairs(digest) == (TYPED if typed else HEADLESS)
    assert digest.origin == ("human" if typed else "headless")
    assert digest.turns[0].skills == (("changelog",) if typed else ("greet-skill",))
    if typed and source != "codex":
        assert [Path(path).name for path in digest.turns[0].files] == ["CHANGELOG.md"]


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded sessions of the real programs are not on this machine")
def test_s14_the_recorded_database_tells_the_same_session(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "session-store.db") as connection:
        connection.executescript((RECORDED / "copilot-1.0.102.interactive.session-store.sql").read_text())
    connection.close()
    reader = CopilotCli(tmp_path)
    assert [pairs(only(reader.read(file, ANY))) for file in reader.files()] == [TYPED]


@pytest.mark.parametrize("source", ["claude", "codex", "copilot"])
def test_s15_a_planted_prompt_of_ours_makes_the_session_ours(tmp_path: Path, source: str) -> None:
    name = {"claude": "claude", "codex": "codex_old", "copilot": "copilot"}[source]
    planted = (SAMPLES / f"{name}.jsonl").read_text()
    for typed in ("No, breaking changes go first", "Add a retry to the client", "Still wrong, use 1.5"):
        planted = planted.replace(typed, f"{SENTINEL}\\nAnswer")
    path = tmp_path / "events.jsonl"
    path.write_text(planted)
    assert only(read(source, path)).origin == "own"


def test_a_link_in_the_place_of_a_session_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(SAMPLES / "claude.jsonl", outside / "a.jsonl")
    projects = tmp_path / "home" / "projects"
    (projects / "-p").mkdir(parents=True)
    (projects / "-p" / "a.jsonl").symlink_to(outside / "a.jsonl")
    (projects / "-q").symlink_to(outside)
    (projects / "-p" / "subagents").mkdir()
    shutil.copy(SAMPLES / "claude.jsonl", projects / "-p" / "subagents" / "a.jsonl")
    shutil.copy(SAMPLES / "claude.jsonl", projects / "-p" / "agent-1.jsonl")
    shutil.copy(SAMPLES / "claude.jsonl", projects / "-p" / "b.jsonl")
    assert [file.path.name for file in Claude(tmp_path / "home").files()] == ["b.jsonl"]
