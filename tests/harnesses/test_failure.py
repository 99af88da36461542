"""What counts as a failure, of which kind, and what must never be taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt.harnesses import claude_code, codex, copilot, gemini, opencode, pi
from skillopt.harnesses.failure import BAD_ANSWERS, classified, exit_failure
from skillopt.harnesses.harness_run import HarnessRun
from skillopt.harnesses.launch import Finished
from skillopt.harnesses.records import parse_lines
from tests.harnesses import synthetic


def _claude(code: int, out: str, err: str = "") -> HarnessRun:
    return claude_code.read_stream(parse_lines(out), Finished(code, out, err))


def _codex(code: int, out: str, err: str = "") -> HarnessRun:
    return codex.read_stream(parse_lines(out), Finished(code, out, err))


def _copilot(code: int, out: str, err: str = "") -> HarnessRun:
    return copilot.read_stream(parse_lines(out), Finished(code, out, err))


EVERY = {"claude": _claude, "codex": _codex, "copilot": _copilot}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("error 401 token expired", "auth"),
        ("Not logged in · Please run /login", "auth"),
        ("Invalid API key", "auth"),
        ("No authentication information found.", "auth"),
        ("model `nope` does not exist or you do not have access", "model"),
        ("BYOK providers require an explicit model", "model"),
        ("This client version is too old", "client"),
        ("gpt-6 requires a newer version of Codex. Please upgrade to the latest version", "client"),
        ("error: unknown option '--schema'", "client"),
        ("You exceeded your current quota", "quota"),
    ],
)
def test_a_notice_instead_of_records_is_fatal_and_never_an_answer(name: str, words: str, kind: str) -> None:
    for code, out, err in ((0, words, ""), (1, words, ""), (0, "", words), (1, "", words)):
        session = EVERY[name](code, out, err)
        assert session.failure is not None, (code, out, err)
        assert session.failure.fatal
        assert session.failure.kind == kind
        assert words in session.failure.message
        assert session.answer == ""


@pytest.mark.parametrize("answer", ["Invalid API key", "The server said: 401 Unauthorized", "model: x not found"])
def test_an_answer_that_speaks_of_keys_is_an_answer(answer: str) -> None:
    rows = synthetic.claude(session=False)
    rows[-1] = synthetic.claude_result(result=answer)
    assert _claude(0, synthetic.lines(*rows)).answer == answer
    stream = synthetic.codex_stream()
    stream[-2]["item"]["text"] = answer
    assert _codex(0, synthetic.lines(*stream)).answer == answer
    events = synthetic.copilot(events=False)
    events[-2]["data"]["content"] = answer
    assert _copilot(0, synthetic.lines(*events)).answer == answer


def test_claude_success_with_is_error_is_a_failure_of_its_status() -> None:
    def failed(**changes: Any) -> str:
        row = synthetic.claude_result(is_error=True, **changes)
        failure = _claude(1, synthetic.lines(row)).failure
        assert failure is not None
        return failure.kind

    assert failed(api_error_status=401, result="API Error: 401 no") == "auth"
    assert failed(api_error_status=404, result="There's an issue with the selected model (x)") == "model"
    assert failed(api_error_status=500, result="API Error: 500 boom") == "server"
    assert failed(api_error_status=529, result="Overloaded") == "overload"
    assert failed(api_error_status=None, result="Prompt is too long") == "context"
    assert failed(api_error_status=400, result="Your credit balance is too low") == "quota"


def test_claude_notice_without_a_single_token_is_no_answer() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    row = synthetic.claude_result(result="Invalid API key · Please run /login", usage=usage, modelUsage={})
    failure = _claude(0, synthetic.lines(row)).failure
    assert failure is not None
    assert failure.kind == "auth"
    empty = synthetic.claude_result(result="", usage=usage, modelUsage={})
    assert _claude(0, synthetic.lines(empty)).failure is None


def test_a_turn_limit_is_not_an_infrastructure_fault_of_another_kind() -> None:
    row = synthetic.claude_result(subtype="error_max_turns", is_error=True, errors=["Reached maximum number"])
    session = _claude(1, synthetic.lines(row))
    assert session.failure is not None
    assert (session.failure.kind, session.failure.fatal) == ("turns", False)


def test_an_empty_answer_of_a_healthy_run_is_an_answer() -> None:
    stream = [r for r in synthetic.codex_stream() if r.get("item", {}).get("type") != "agent_message"]
    session = _codex(0, synthetic.lines(*stream))
    assert (session.answer, session.failure) == ("", None)


def test_a_warning_about_metadata_is_no_failure() -> None:
    item = {"type": "error", "message": "Model metadata for `x` not found. Defaulting to fallback metadata"}
    rows = [{"type": "item.completed", "item": item}, *synthetic.codex_stream()]
    assert _codex(0, synthetic.lines(*rows)).failure is None


def test_copilot_exit_zero_after_a_signal_is_an_abort() -> None:
    rows = synthetic.copilot(events=False)
    rows.insert(-1, {"type": "abort", "data": {"reason": "signal"}})
    session = _copilot(0, synthetic.lines(*rows))
    assert session.exit_reason == "aborted"
    assert session.answer == ""


def test_a_killed_run_keeps_its_steps_and_no_answer() -> None:
    for read, rows in (
        (_claude, synthetic.claude(session=False)[:-1]),
        (_codex, synthetic.codex_stream()[:-1]),
        (_copilot, synthetic.copilot(events=False)[:-1]),
    ):
        session = read(143, synthetic.lines(*rows) + '{"cut": "in the mid')
        assert session.failure is not None
        assert not session.failure.fatal
        assert session.answer == ""
        assert session.steps
        assert session.bad_lines == 1


@pytest.mark.parametrize("status", [401, 403])
def test_copilot_error_records(status: int) -> None:
    error = {"errorType": "authentication", "message": "Authentication failed", "statusCode": status}
    rows = [{"type": "session.error", "data": error}, {"type": "result", "exitCode": 1}]
    failure = _copilot(1, synthetic.lines(*rows)).failure
    assert failure is not None
    assert failure.kind == "auth"


def test_thin_adapters_take_no_words_for_an_answer_either() -> None:
    finished = Finished(0, "Please log in first", "")
    nothing = parse_lines(finished.stdout)
    for session in (
        gemini.read_stream(nothing, finished),
        opencode.read_stream(nothing, finished),
        pi.read_session(parse_lines(""), finished),
    ):
        assert session.failure is not None
        assert session.failure.kind == "auth"
        assert session.answer == ""


def test_words_are_bounded_and_on_one_line() -> None:
    failure = exit_failure(1, "x " * 5000 + "\nthe end", "")
    assert len(failure.message) < 700
    assert failure.message.endswith("the end")
    assert exit_failure(-9, "", "").message.startswith("ended by signal 9")


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "request"), (402, "quota"), (408, "network"), (429, "rate"), (500, "server")]
)
def test_a_status_decides(status: int, kind: str) -> None:
    assert classified("the connection to the model was not authorized", status=status).kind == kind


def _opencode(word: str) -> HarnessRun:
    text = {"type": "text", "part": {"text": "half an ans"}}
    end = {"type": "step_finish", "part": {"reason": word, "tokens": {}}}
    return opencode.read_stream(parse_lines(synthetic.lines(text, end)), Finished(0, "", ""))


def _pi(word: str) -> HarnessRun:
    message = {"role": "assistant", "content": [{"type": "text", "text": "half an ans"}], "stopReason": word}
    return pi.read_session(parse_lines(synthetic.lines({"type": "message", "message": message})), Finished(0, "", ""))


def _claude_stop(word: str) -> HarnessRun:
    return _claude(0, synthetic.lines(synthetic.claude_result(result="half an ans", stop_reason=word)))


ENDINGS = {"opencode": _opencode, "pi": _pi, "claude": _claude_stop}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("stop", "end_turn", "STOP"), None),
        (("content-filter", "refusal"), None),
        (("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"), "cut"),
        (("error", "aborted", "cancelled", "canceled", "pause_turn"), "aborted"),
        (("paused", "other", "unknown", "moved_on"), "aborted"),
    ],
)
def test_the_word_of_the_end_decides_what_the_answer_is(name: str, words: tuple[str, ...], kind: str | None) -> None:
    """A cut reply, a cancelled one and one that ended in a way nobody knows are no whole answers."""
    for word in words:
        session = ENDINGS[name](word)
        assert (session.failure.kind if session.failure else None) == kind, word
        assert session.answer == ("" if kind else "half an ans")
        assert session.failure is None or (not session.failure.fatal and session.exit_reason == kind)
    assert (kind in BAD_ANSWERS) == (kind == "cut")


@pytest.mark.parametrize("name", ["opencode", "pi"])
def test_a_call_of_a_tool_is_no_end(name: str) -> None:
    session = ENDINGS[name]({"opencode": "tool-calls", "pi": "toolUse"}[name])
    assert session.failure is not None and session.failure.kind == "aborted"


def test_a_schemas_answer_of_claude_ends_with_a_tool() -> None:
    row = synthetic.claude_result(result="", stop_reason="tool_use", structured_output={"a": 1})
    assert _claude(0, synthetic.lines(row)).answer == '{"a": 1}'


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("No API key found for anthropic.\n\nUse /login to log into a provider", "auth"),
        ("Your access token could not be refreshed because your refresh token was already used", "auth"),
        ("Please set an Auth method in your settings.json", "auth"),
        ("error sending request for url (https://auth.openai.com/oauth/token)", "network"),
        ("Cannot connect to API: Unable to connect. Is the computer able to access the url?", "network"),
        ("Incomplete response returned, reason: max_output_tokens", "cut"),
        ("API Error: Claude's response exceeded the 32000 output token maximum", "cut"),
        ("unexpected status 400 Bad Request: max_output_tokens is too large", "request"),
    ],
)
def test_words_of_real_programs(words: str, kind: str) -> None:
    assert classified(words).kind == kind


def test_opencodes_own_words_are_found() -> None:
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": "Unauthorized: no such key"}}}
    session = opencode.read_stream(parse_lines(synthetic.lines(error)), Finished(0, "", ""))
    assert session.failure is not None
    assert (session.failure.kind, session.failure.message) == ("auth", "Unauthorized: no such key")
