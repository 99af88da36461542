"""How a reply ended, in every provider's words: whole, cut, refused, failed, or unknown and then not taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from skillopt.config.roles import RoleSettings
from skillopt.core.errors import CircuitOpen, ContextOverflow, FatalModelError, TransientModelError
from skillopt.engine.run import doctor
from skillopt.model.advice import advice
from skillopt.model.client import Client
from skillopt.model.local.pool import EnginePool
from skillopt.model.providers.wire.messages import read_message
from skillopt.model.providers.wire.reply import read_reply, status_error
from skillopt.model.providers.wire.responses import read_response
from skillopt.model.types import ChatReply, Usage
from tests.model.model_support import compatible
from tests.model.providers.test_openai_compatible import Fixed, complete, good

CUT = ["length", "model_length", "MAX_TOKENS", "max_output_tokens", "max-tokens", "token_limit", "max_new_tokens"]
WHOLE = ["stop", "STOP", "end_turn", "eos", "eos_token", "stop_sequence", "COMPLETE", None, ""]
REFUSED = ["content_filter", "SAFETY", "content-filter", "RECITATION", "guardrail_intervened", "prohibited_content"]
FAILED = ["error", "network_error", "insufficient_system_resource", "aborted", "cancelled", "MALFORMED_FUNCTION_CALL"]
UNKNOWN = ["paused", "ratelimited-soft", "42", "model_changed"]
KEY = "gTq7Zp2Lw9Xc4Vb6Nm1Kj8Hf"


def chat_body(finish: Any, text: str = "Paris", **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        **more,
    }


def messages_body(finish: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "text", "text": "Paris"}], "stop_reason": finish}


@pytest.mark.parametrize(
    ("words", "finish"), [(CUT, "length"), (WHOLE, "stop"), (REFUSED, "refusal"), (UNKNOWN, "unknown")]
)
def test_words_of_two_wires(words: list[Any], finish: str) -> None:
    for word in words:
        assert read_reply(json.dumps(chat_body(word)), "URL").finish == finish, word
        assert read_message(json.dumps(messages_body(word)), "URL").finish == finish, word


@pytest.mark.parametrize("word", FAILED)
def test_a_failure_is_no_answer(word: str) -> None:
    for read, body in ((read_reply, chat_body(word)), (read_message, messages_body(word))):
        with pytest.raises(TransientModelError, match=word):
            read(json.dumps(body), "URL")


@pytest.mark.parametrize(
    ("status", "reason", "finish"),
    [
        ("completed", None, "stop"),
        ("incomplete", "max_output_tokens", "length"),
        ("incomplete", None, "length"),
        ("incomplete", "content_filter", "refusal"),
        ("incomplete", "mystery", "unknown"),
        ("failed", None, TransientModelError),
        ("cancelled", None, TransientModelError),
        ("in_progress", None, TransientModelError),
        ("incomplete", "server_error", TransientModelError),
    ],
)
def test_the_responses_api(status: str, reason: str | None, finish: Any) -> None:
    part = {"type": "message", "content": [{"type": "output_text", "text": "Paris"}]}
    body = json.dumps({"status": status, "output": [part], "incomplete_details": reason and {"reason": reason}})
    if isinstance(finish, str):
        assert read_response(body, "URL").finish == finish
    else:
        with pytest.raises(finish):
            read_response(body, "URL")


def upstream(code: Any, words: str = "upstream failed") -> dict[str, Any]:
    """What a router answers with status 200 when the provider behind it failed."""
    return {
        "choices": [
            {
                "index": 0,
                "finish_reason": "error",
                "error": {"code": code, "message": words},
                "message": {"role": "assistant", "content": ""},
            }
        ]
    }


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (upstream(502), TransientModelError, "answered 502: upstream failed"),
        (upstream("429", "slow down"), TransientModelError, "answered 429: slow down"),
        (upstream("server_error"), TransientModelError, "upstream failed"),
        (upstream(401, "bad key"), FatalModelError, "answered 401: bad key"),
        (upstream("insufficient_quota", "pay first"), FatalModelError, "pay first"),
        (upstream(400, "maximum context length is 10"), ContextOverflow, "maximum context"),
        (chat_body("stop", "half an ans", error={"message": "stream broke"}), TransientModelError, "stream broke"),
        ({"error": {"message": "no capacity", "code": 503}}, TransientModelError, "answered 503: no capacity"),
        ({"error": "boom"}, TransientModelError, "boom"),
    ],
)
async def test_an_error_inside_a_200(body: dict[str, Any], kind: type[Exception], words: str) -> None:
    found, _ = await complete(lambda _: web.json_response(body))
    assert type(found) is kind and words in str(found)


async def test_a_200_with_an_error_of_null_is_an_answer() -> None:
    found, _ = await complete(lambda _: web.json_response(chat_body("stop", error=None)))
    assert isinstance(found, ChatReply) and found.text == "Paris"


async def test_a_failed_200_is_asked_again(rig: Callable[..., Any]) -> None:
    told = iter([upstream(502), chat_body("error"), chat_body("stop")])
    async with Fixed(lambda _: web.json_response(next(told))) as server:
        made = rig(compatible(server.url))
        assert (await made.chat()).text == "Paris"
        assert len(server.bodies) == 3 and len(made.meter.settled) == 1


async def test_an_unknown_end_is_told_once_and_never_taken(rig: Callable[..., Any]) -> None:
    told: list[str] = []
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    async with Fixed(lambda _: good("Paris", finish="paused", usage=usage)) as server:
        made = rig(compatible(server.url), failures=3)
        client: Client = made.client
        client._notify = told.append  # pyright: ignore[reportPrivateUsage]
        for number in range(2):
            with pytest.raises(TransientModelError, match="unknown reason 'paused'"):
                await made.chat(f"question {number}", attempts=2)
        with pytest.raises(CircuitOpen, match="paused"):
            await made.chat("question 3", attempts=2)
        assert len(made.meter.settled) == len(server.bodies) == 6, "what was answered was billed"
        assert made.journal.count("chat") == 0
    assert len(told) == 1 and "'paused'" in told[0] and "not scored" in told[0]


@pytest.mark.parametrize("place", [585, 300, 595, 20, 9000])
async def test_a_key_in_the_words_is_never_cut_in_half(place: int, rig: Callable[..., Any]) -> None:
    words = "w" + " rong" * (place // 5) + " " * (place % 5) + f" {KEY} is no key"
    answers = [
        lambda _: web.json_response({"error": {"message": words}}, status=401),
        lambda _: web.Response(text=words, status=500),
        lambda _: web.Response(text=words),
        lambda _: web.json_response({"message": words}),
        lambda _: web.json_response(chat_body("error", words)),
    ]
    for handler in answers:
        async with Fixed(handler) as server:
            made = rig(compatible(server.url))
            made.client._secrets = (KEY,)
            with pytest.raises((FatalModelError, TransientModelError)) as lost:
                await made.chat(attempts=1)
            shown = str(lost.value)
            assert not any(KEY[i : i + 6] in shown for i in range(len(KEY) - 5)), shown


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, Usage()),
        ({"prompt_tokens": 0, "completion_tokens": 7}, Usage()),
        ({"prompt_tokens": 12, "completion_tokens": 0}, Usage(12, None)),
        ({"prompt_tokens": 12, "completion_tokens": 3}, Usage(12, 3)),
        ({"input_tokens": 12, "output_tokens": 3}, Usage(12, 3)),
        ({}, Usage()),
    ],
)
async def test_usage_that_cannot_be_is_unknown(usage: dict[str, int], read: Usage, rig: Callable[..., Any]) -> None:
    async with Fixed(lambda _: good("Paris", usage=usage)) as server:
        made = rig(compatible(server.url))
        reply = await made.chat()
        assert reply.usage == read
        (settled,) = made.meter.settled
        assert (settled[1] is None) == (read.prompt_tokens is None or read.completion_tokens is None)


async def test_an_empty_answer_may_take_no_tokens(rig: Callable[..., Any]) -> None:
    async with Fixed(lambda _: good("", usage={"prompt_tokens": 5, "completion_tokens": 0})) as server:
        reply = await rig(compatible(server.url)).chat()
        assert reply.usage == Usage(10, 0), "asked twice, because it was empty"


def test_a_404_of_azure_names_azures_own_fix() -> None:
    where = "https://me.openai.azure.com/openai/deployments/d/chat/completions?api-version=1"
    error = status_error(404, '{"error": {"message": "Resource not found"}}', {}, where=where, secrets=())
    assert error.cause == "address"
    role = RoleSettings("target", "openai_chat", "d", "https://me.openai.azure.com", auth_mode="api_key")
    assert "deployment" in advice("address", role) and "/v1" not in advice("address", role)


async def test_doctor_does_not_pass_a_model_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(handler: Any) -> Any:
        async with Fixed(handler) as server:
            settings = RoleSettings(role="target", backend="openai_compatible", model="m", base_url=server.url)
            asked = await doctor._ask(settings, EnginePool())  # pyright: ignore[reportPrivateUsage]
            return asked.check(settings)

    assert (await found(lambda _: good("ready"))).state == "ok"
    for handler in (lambda _: good(""), lambda _: good("ready", finish="paused")):
        silent = await found(handler)
        assert silent.state == "failed" and silent.fix
    busy = await found(lambda _: web.json_response({"error": {"message": "slow down"}}, status=429))
    assert busy.state == "failed" and "limit" in busy.fix
