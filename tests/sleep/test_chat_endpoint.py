"""The endpoint of a night over real HTTP: what is sent, what counts as an answer, what never does."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skillopt.core.errors import FatalModelError, ModelError, TransientModelError
from skillopt.sleep.backends.base import Question
from skillopt.sleep.backends.chat_endpoint import TRIES, ChatEndpoint

KEY = "sk-test-0123456789abcdef"
ASKED = Question("0" * 64, "Which?", max_tokens=70)


def reply(content: object = "This.", finish: object = "stop", **more: object) -> dict[str, object]:
    message = {"role": "assistant", "content": content}
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message, **more}]}


@dataclass
class Provider:
    """Answers in order; the last answer again and again."""

    answers: list[tuple[int, dict[str, str], object]]
    seen: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    hold: threading.Event | None = None
    url: str = ""

    def endpoint(self, **settings: object) -> ChatEndpoint:
        return ChatEndpoint(self.url, "m", KEY, pause_s=0.001, **settings)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def provider() -> Generator[Provider]:
    made = Provider([])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.seen.append((self.headers.get("Authorization", ""), body))
            if made.hold is not None:
                made.hold.wait()
            status, headers, said = made.answers[min(len(made.seen), len(made.answers)) - 1]
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    if made.hold is not None:
        made.answers = [(503, {}, {})]
        made.hold.set()
    http.shutdown()
    http.server_close()


@pytest.mark.parametrize(
    ("finish", "cut"),
    [
        ("stop", False),
        (None, False),
        ("length", True),
        ("model_length", True),
        ("MAX_TOKENS", True),
        ("max_output_tokens", True),
    ],
)
async def test_every_word_for_a_cut_answer_is_known(provider: Provider, finish: object, cut: bool) -> None:
    provider.answers = [(200, {}, {**reply(finish=finish), "usage": {"prompt_tokens": 3, "completion_tokens": 5}})]
    answer = await provider.endpoint().ask(ASKED)
    assert (answer.text, answer.cut, answer.prompt_tokens, answer.completion_tokens) == ("This.", cut, 3, 5)
    key, body = provider.seen[0]
    assert key == f"Bearer {KEY}"
    assert body == {"model": "m", "messages": [{"role": "user", "content": "Which?"}], "max_tokens": 70}


@pytest.mark.parametrize(
    "said",
    [
        reply("", "error", error={"code": 502, "message": "upstream failed"}),
        {**reply("half"), "error": {"message": "upstream failed"}},
        {"error": {"message": "upstream failed"}},
        {"error": "upstream failed"},
        reply("half", "network_error"),
        reply("half", "cancelled"),
        reply("half", "paused"),  # nobody knows whether that is whole
        {**reply("half"), "errors": [{"message": "no worker"}]},
        {**reply("half"), "base_resp": {"status_code": 1013, "status_msg": "internal"}},
        reply(None),
        {"choices": []},
        b"<html>busy</html>",
        b"",
    ],
)
async def test_a_failure_of_status_200_is_no_answer(provider: Provider, said: object) -> None:
    """Tried again; it never becomes a score of an empty reply."""
    provider.answers = [(200, {}, said), (200, {}, reply())]
    assert (await provider.endpoint().ask(ASKED)).text == "This."
    provider.answers = [(200, {}, said)]
    provider.seen.clear()
    with pytest.raises(TransientModelError):
        await provider.endpoint().ask(ASKED)
    assert len(provider.seen) == TRIES


async def test_the_providers_words_are_shown(provider: Provider) -> None:
    provider.answers = [(200, {}, reply("", "error", error={"message": f"upstream failed with {KEY}"}))]
    with pytest.raises(TransientModelError, match="upstream failed") as fault:
        await provider.endpoint().ask(ASKED)
    assert KEY not in str(fault.value)


async def test_a_refusal_is_an_answer_without_words(provider: Provider) -> None:
    provider.answers = [(200, {}, reply(None, "content_filter"))]
    assert (await provider.endpoint().ask(ASKED)).text == ""


async def test_a_server_that_knows_only_the_newer_name_of_the_limit(provider: Provider) -> None:
    said = {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}
    provider.answers = [(400, {}, said), (200, {}, reply())]
    assert (await provider.endpoint().ask(ASKED)).text == "This."
    (_, first), (_, second) = provider.seen
    assert first["max_tokens"] == second["max_completion_tokens"] == 70 and "max_tokens" not in second


async def test_a_refused_request_is_not_repeated(provider: Provider) -> None:
    provider.answers = [(400, {}, {"error": {"message": "max_completion_tokens is too large"}})]
    with pytest.raises(ModelError, match="too large"):
        await provider.endpoint().ask(ASKED)
    assert len(provider.seen) == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_takes_no_key_along(provider: Provider, status: int) -> None:
    provider.answers = [(status, {"Location": provider.url.replace("127.0.0.1", "localhost")}, {})]
    with pytest.raises(FatalModelError, match="moved to http://localhost"):
        await provider.endpoint().ask(ASKED)
    assert len(provider.seen) == 1


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_what_repeating_cannot_mend_is_asked_once(provider: Provider, status: int) -> None:
    provider.answers = [(status, {}, {"error": {"message": "no"}})]
    with pytest.raises(FatalModelError):
        await provider.endpoint().ask(ASKED)
    assert len(provider.seen) == 1


async def test_silence_ends_at_the_timeout_and_a_cancellation_at_once(provider: Provider) -> None:
    provider.hold = threading.Event()
    asked = asyncio.ensure_future(provider.endpoint().ask(ASKED))
    while not provider.seen:
        await asyncio.sleep(0.005)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    with pytest.raises(TransientModelError, match="no answer within"):
        await provider.endpoint(timeout_s=0.3).ask(ASKED)
    assert len(provider.seen) == 1 + TRIES


async def test_an_error_whose_reply_breaks_off_is_known_by_its_status() -> None:
    """The connection is reset in the middle of the body: still a provider that is busy, and asked again."""
    seen: list[bytes] = []

    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(broken, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TransientModelError, match="HTTP 503"):
            await ChatEndpoint(f"http://127.0.0.1:{port}/v1", "m", pause_s=0.001).ask(ASKED)
    assert len(seen) == TRIES
