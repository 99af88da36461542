"""Readers of all programs on one story, on damaged streams, and on records that the real programs wrote."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.harnesses import claude_code, codex, copilot, gemini, opencode, pi, qwen
from skillopt.harnesses.harness_run import HarnessRun, Tokens
from skillopt.harnesses.launch import Finished
from skillopt.harnesses.records import Records, parse_lines, read_file
from skillopt.harnesses.sessions import claude_session, codex_rollout
from tests.harnesses import synthetic

FINE = Finished(0, "", "")
TRANSCRIPTS = Path("/work/shared/tools/transcripts")
needs_transcripts = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="the recorded transcripts are not here")

Read = Callable[[Records], HarnessRun]
STORIES: dict[str, tuple[list[dict[str, Any]], Read]] = {
    "codex stream": (synthetic.codex_stream(), lambda r: codex.read_stream(r, FINE)),
    "codex rollout": (synthetic.codex_rollout(), codex_rollout.read_rollout),
    "codex rollout, results as JSON": (synthetic.codex_rollout(exit_head=False), codex_rollout.read_rollout),
    "codex rollout, talk as events": (synthetic.codex_rollout(events_only=True), codex_rollout.read_rollout),
    "claude stream": (synthetic.claude(session=False), lambda r: claude_code.read_stream(r, FINE)),
    "claude stream, other version": (
        [dict(reversed(r.items())) for r in synthetic.claude(session=False, version="2.1.197")],
        lambda r: claude_code.read_stream(r, FINE),
    ),
    "claude session": (synthetic.claude(session=True), claude_session.read_session),
    "copilot stream": (synthetic.copilot(events=False), lambda r: copilot.read_stream(r, FINE)),
    "copilot events": (synthetic.copilot(events=True), copilot.read_events),
}


@pytest.mark.parametrize("name", STORIES)
def test_every_format_tells_the_same_story(name: str) -> None:
    rows, read = STORIES[name]
    session = read(parse_lines(synthetic.lines(*rows)))
    assert session.failure is None
    assert session.answer == synthetic.ANSWER
    if name != "codex stream":  # which names no skill and drops refused commands
        assert session.skills == (synthetic.SKILL,)
    if "events" not in name or "copilot" in name:
        assert any(s.kind in ("tool", "skill") and "c0ffee" in (s.output or s.text) for s in session.steps) or (
            name == "copilot stream"
        )
    if name != "copilot stream":
        told = session.tokens
        assert (told.input, told.cached, told.output) == (490, 320, 55)


def test_a_reply_of_two_records_is_counted_once_and_stream_usage_never() -> None:
    rows = synthetic.claude(session=True)
    doubled = [r for row in rows for r in ([row, row] if row["type"] == "assistant" else [row])]
    assert claude_session.read_session(parse_lines(synthetic.lines(*doubled))).tokens.input == 490
    without_result = parse_lines(synthetic.lines(*synthetic.claude(session=False)[:-1]))
    assert claude_code.read_stream(without_result, Finished(143, "", "")).tokens == Tokens()


def test_usage_of_a_resumed_thread_is_the_last_figure_not_a_sum() -> None:
    first, second = synthetic.codex_stream(), synthetic.codex_stream()
    later = {"input_tokens": 900, "cached_input_tokens": 500, "output_tokens": 70, "reasoning_output_tokens": 5}
    second[-1] = {"type": "turn.completed", "usage": later}
    session = codex.read_stream(parse_lines(synthetic.lines(*first, *second)), FINE)
    assert session.tokens == Tokens(900, 70, 500, 5)


def test_a_refused_command_is_found_though_the_stream_hides_it() -> None:
    session = codex_rollout.read_rollout(parse_lines(synthetic.lines(*synthetic.codex_rollout())))
    assert session.denied == ("touch /opt/x",)
    assert [s.exit_code for s in session.steps if s.kind == "tool"] == [0, 1]


def test_who_was_at_the_keyboard_is_not_read_from_source() -> None:
    def origin(trigger: str, originator: str, source: str) -> str:
        rows = synthetic.codex_rollout(trigger=trigger)
        rows[0]["payload"] |= {"originator": originator, "source": source}
        return codex_rollout.read_rollout(parse_lines(synthetic.lines(*rows))).origin

    assert origin("exec", "codex_exec", "exec") == "headless"
    assert origin("user", "codex-tui", "vscode") == "human"
    assert origin("", "someone_else", "exec") == "unknown"


def test_copilot_success_does_not_hide_an_exit_code_and_denials_are_listed() -> None:
    session = copilot.read_stream(parse_lines(synthetic.lines(*synthetic.copilot(events=False))), FINE)
    tools = [s for s in session.steps if s.kind == "tool"]
    assert [(s.exit_code, s.ok) for s in tools] == [(None, True), (1, False), (None, False)]
    assert session.denied == ("bash: echo hi > x",)
    assert tools[1].output == "cat: nope"


@pytest.mark.parametrize("name", STORIES)
@given(seed=st.integers(0, 2**32))
def test_bad_lines_are_skipped_and_counted(name: str, seed: int) -> None:
    rows, read = STORIES[name]
    draw = random.Random(seed)
    lines = synthetic.lines(*rows).splitlines()
    junk = ['{"type":', "null", "[1, 2]", '"text"', "warning: something", "\x00", '{"a": NaN', "[" * 3000]
    chosen = [draw.choice(junk) for _ in range(draw.randint(1, 5))]
    for line in chosen:
        lines.insert(draw.randint(0, len(lines)), line)
    session = read(parse_lines("\n".join(lines)))
    assert session.bad_lines == len(chosen)
    assert session.answer == synthetic.ANSWER


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", STORIES)
@given(data=st.data())
def test_a_field_of_another_shape_never_raises(name: str, data: st.DataObject) -> None:
    rows, read = STORIES[name]
    changed: list[Any] = json.loads(json.dumps(rows))
    for _ in range(3):
        target: Any = data.draw(st.sampled_from(changed))
        while isinstance(target, dict) and target:
            key = data.draw(st.sampled_from(sorted(target)))
            if not isinstance(target[key], dict) or data.draw(st.booleans()):
                target[key] = data.draw(ANYTHING)
                break
            target = target[key]
    read(Records(tuple(r for r in changed if isinstance(r, dict))))


def test_lines_are_split_at_newlines_only() -> None:
    read = parse_lines('{"a": "one\u2028two\x85three"}\n{"b": 1}\r\n')
    assert [dict(r) for r in read] == [{"a": "one\u2028two\x85three"}, {"b": 1}]
    assert read.bad == 0


def test_a_file_that_is_not_there_or_not_utf8_is_read(tmp_path: Path) -> None:
    assert read_file(tmp_path / "none.jsonl") == Records()
    (tmp_path / "bad.jsonl").write_bytes(b'{"a": "\xff"}\n{"cut": ')
    read = read_file(tmp_path / "bad.jsonl")
    assert (len(read.rows), read.bad) == (1, 1)


HEADLESS = "Done: answer.txt holds the greeting; nope.txt does not exist."
RECORDED: dict[str, Read] = {
    "codex-0.171.0.rollout.cut.jsonl": codex_rollout.read_rollout,
    "codex-0.171.0.exec-json.stdout.jsonl": lambda r: codex.read_stream(r, FINE),
    "claude-2.1.197.session.cut.jsonl": claude_session.read_session,
    "claude-2.1.332.session.cut.jsonl": claude_session.read_session,
    "claude-2.1.197.stream-json.stdout.jsonl": lambda r: claude_code.read_stream(r, FINE),
    "claude-2.1.332.stream-json.stdout.jsonl": lambda r: claude_code.read_stream(r, FINE),
    "copilot-1.0.102.events.cut.jsonl": copilot.read_events,
    "opencode-1.18.33.json.stdout.jsonl": lambda r: opencode.read_stream(r, FINE),
    "qwen-0.15.10.stream-json.stdout.jsonl": lambda r: qwen.read_stream(r, FINE),
    "gemini-0.61.0.stream-json.stdout.jsonl": lambda r: gemini.read_stream(r, FINE),
    "pi-0.73.1.session.cut.jsonl": lambda r: pi.read_session(r, FINE),
}


@needs_transcripts
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_headless_sessions(name: str) -> None:
    session = RECORDED[name](read_file(TRANSCRIPTS / name))
    assert session.answer == HEADLESS
    assert session.failure is None
    assert session.bad_lines == 0
    assert (session.tokens.input, session.tokens.cached, session.tokens.output) == (4900, 3200, 110)
    commands = [s.call for s in session.steps if s.kind == "tool"]
    assert any("echo hi > answer.txt" in c for c in commands)
    if "opencode" not in name and "exec-json" not in name:
        assert session.skills == ("greet-skill",)


INTERACTIVE: dict[str, Read] = {
    "codex-0.171.0.interactive.rollout.cut.jsonl": codex_rollout.read_rollout,
    "claude-2.1.197.interactive.session.cut.jsonl": claude_session.read_session,
    "claude-2.1.332.interactive.session.cut.jsonl": claude_session.read_session,
    "copilot-1.0.102.interactive.events.cut.jsonl": copilot.read_events,
}


@needs_transcripts
@pytest.mark.parametrize("name", INTERACTIVE)
def test_recorded_interactive_sessions(name: str) -> None:
    session = INTERACTIVE[name](read_file(TRANSCRIPTS / name))
    assert session.origin == "human"
    assert session.prompts == (
        "Write the changelog entry for 1.4",
        "No, breaking changes go first",
        "Good, that is what I want",
    )
    assert session.answers == (
        "Added the 1.4 entry to CHANGELOG.md.",
        "Moved the breaking change to the top.",
        "Glad it fits.",
    )
    assert session.skills == ("changelog",)
