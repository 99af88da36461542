"""The OpenAI-compatible backend at the wire: what is sent, what is learnt, how failures are told apart."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from email.utils import formatdate

import pytest
from aiohttp import web

from skillopt.core.errors import ConfigError, ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.model.providers.openai_compatible import CompatibleSettings, create
from skillopt.model.types import ChatReply, ChatRequest, Message, Usage
from skillopt.testing.latency_server import Behaviour, LatencyServer
from tests.model.model_support import ask, compatible

SECRET = "sk-proj-abcdefghijklmnop1234567890"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


class Fixed:
    """A server whose handler is given; records bodies and headers."""

    def __init__(self, handler):
        self.handler, self.bodies, self.headers = handler, [], []

    async def __aenter__(self):
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._serve)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self.runner.addresses[0][1]}/v1"
        return self

    async def _serve(self, request):
        self.bodies.append(await request.json())
        self.headers.append(request.headers)
        return self.handler(self.bodies[-1])

    async def __aexit__(self, *_):
        await self.runner.cleanup()


def good(text="ok", *, finish="stop", usage=None, **message):
    body = {"model": "served-1", "choices": [{"message": {"content": text, **message}, "finish_reason": finish}]}
    return web.json_response(body if usage is None else {**body, "usage": usage})


def bad(status, words, headers=None, **fields):
    return web.json_response({"error": {"message": words, **fields}}, status=status, headers=headers or {})


async def complete(handler, request=None, **settings):
    """One attempt against a handler: (reply or error, server)."""
    async with Fixed(handler) as server:
        backend = compatible(server.url, **settings)
        try:
            return await backend.complete(request or ask()), server
        except ModelError as error:
            return error, server
        finally:
            await backend.aclose()


async def test_plain_request_holds_standard_fields_only():
    _, server = await complete(lambda b: good())
    assert server.bodies == [
        {
            "model": "gpt-4o-mini",
            "max_completion_tokens": 8000,
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        }
    ]
    assert "Idempotency-Key" not in server.headers[0]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("request_options", "settings", "body"),
    [
        ({"temperature": 0.0}, {}, {"temperature": 0.0}),
        ({}, {"temperature": 0.7}, {"temperature": 0.7}),
        ({"temperature": 0.1}, {"temperature": 0.7}, {"temperature": 0.1}),
        ({"top_p": 0.5}, {}, {"top_p": 0.5}),
        ({"seed": 7}, {}, {"seed": 7}),
        ({"reasoning_effort": "low"}, {}, {"reasoning_effort": "low"}),
        ({}, {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ({"max_completion_tokens": 50}, {}, {"max_completion_tokens": 50}),
        ({"max_completion_tokens": 50}, {"max_tokens": 20}, {"max_completion_tokens": 20}),
        ({}, {"max_tokens": None}, {"max_completion_tokens": 16_384}),
        ({}, {"model": "other"}, {"model": "other"}),
        ({}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
         {"chat_template_kwargs": {"enable_thinking": False}}),
        ({"schema": SCHEMA, "schema_name": "patch"}, {}, {"response_format": {
            "type": "json_schema", "json_schema": {"name": "patch", "strict": True, "schema": SCHEMA}}}),
    ],
)  # fmt: skip
async def test_each_option_is_seen_at_the_wire(request_options, settings, body):
    _, server = await complete(lambda b: good(), ask(**request_options), **settings)
    sent = server.bodies[0]
    assert {name: sent.get(name) for name in body} == body
    plain = {"model", "messages", "max_completion_tokens"}
    assert set(sent) == plain | set(body)


async def test_images_survive():
    request = ChatRequest((Message("user", ({"type": "text", "text": "what?"}, IMAGE)),), "rollout")
    _, server = await complete(lambda b: good(), request)
    assert server.bodies[0]["messages"][0]["content"] == [{"type": "text", "text": "what?"}, IMAGE]


async def test_key_and_idempotency_reach_the_server():
    _, server = await complete(lambda b: good(), ask(idempotency_key="k1-0"), api_key=SECRET)
    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert server.headers[0]["Idempotency-Key"].startswith("k1-0")


async def test_usage_is_read_whole_and_absent_is_unknown():
    usage = {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 5},
    }  # fmt: skip
    reply, _ = await complete(lambda b: good(usage=usage))
    assert reply == ChatReply("ok", "stop", Usage(100, 20, 64, 5), "served-1")
    assert (await complete(lambda b: good()))[0].usage == Usage(None, None, None, None)
    assert (await complete(lambda b: good(usage={"prompt_tokens": "many"})))[0].usage == Usage()


@pytest.mark.parametrize(
    ("response", "text", "finish"),
    [
        (lambda: good("cut", finish="length"), "cut", "length"),
        (lambda: good(None, refusal="I must not."), "I must not.", "refusal"),
        (lambda: good("", finish="content_filter"), "", "refusal"),
        (lambda: good(None, tool_calls=[{"id": "1"}]), "", "tool_calls"),
        (lambda: good(None), "", "stop"),
        (lambda: good([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),
        (lambda: good("Your prompt says: error 401, Invalid API key"), None, "stop"),
    ],
)
async def test_finish_reasons(response, text, finish):
    reply, _ = await complete(lambda b: response())
    assert reply.finish == finish
    assert text is None or reply.text == text


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (lambda: web.Response(body=b""), "empty body"),
        (lambda: web.Response(text="<html>gateway</html>", content_type="text/html"), "a web page"),
        (lambda: web.Response(text='{"choices": [', content_type="application/json"), "invalid JSON"),
        (lambda: web.json_response({"choices": []}), "without choices"),
        (lambda: web.json_response({"choices": None}), "without choices"),
        (lambda: web.json_response({"error": {"message": "upstream lost"}}), "upstream lost"),
        (lambda: web.json_response([1]), "without choices"),
        (lambda: bad(500, "oops"), "500: oops"),
        (lambda: bad(408, "slow"), "408"),
        (lambda: bad(409, "busy"), "409"),
    ],
)
async def test_what_is_no_answer_is_transient(response, words):
    error, _ = await complete(lambda b: response())
    assert type(error) is TransientModelError and words in str(error)
    assert "/v1/chat/completions" in str(error)


@pytest.mark.parametrize("status", [401, 403, 404, 400, 422])
async def test_fatal_statuses_show_url_and_words_never_the_key(status):
    error, server = await complete(lambda b: bad(status, f"no good: key {SECRET} \n refused"), api_key=SECRET)
    assert type(error) is FatalModelError
    assert len(server.bodies) == 1
    assert f"{server.url}/chat/completions answered {status}: no good: key [redacted] refused" in str(error)
    assert SECRET not in repr(error) and SECRET not in repr(compatible("http://localhost/v1", api_key=SECRET).settings)
    assert error.__cause__ is None


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
    ],
)
async def test_context_overflow(words):
    error, _ = await complete(lambda b: bad(400, words))
    assert isinstance(error, ContextOverflow)


async def test_rate_limit_carries_the_servers_wish():
    for headers, low, high in (
        ({"Retry-After": "7"}, 7, 7),
        ({"retry-after-ms": "250"}, 0.25, 0.25),
        ({"Retry-After": formatdate(time.time() + 30, usegmt=True)}, 28, 30),
        ({"Retry-After": "soon"}, None, None),
    ):
        error, _ = await complete(lambda b, h=headers: bad(429, "slow down", h))
        assert isinstance(error, TransientModelError) and error.overloaded
        assert error.retry_after is None if low is None else low <= error.retry_after <= high
    error, _ = await complete(lambda b: bad(429, "You exceeded your current quota", code="insufficient_quota"))
    assert isinstance(error, FatalModelError)


def strict_server(**refusals):
    """Refuses a body that holds one of the named fields, in the given words."""

    def handler(body):
        for name, words in refusals.items():
            if name in body:
                return bad(400, words)
        return good()

    return handler


@pytest.mark.parametrize(
    ("refused", "words", "request_options", "kept"),
    [
        ("max_completion_tokens", "Unrecognized request argument supplied: max_completion_tokens", {}, "max_tokens"),
        ("max_completion_tokens", "1 validation error: body.max_completion_tokens Extra inputs are not permitted", {},
         "max_tokens"),
        ("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) "
         "value is supported.", {"temperature": 0.2}, "max_completion_tokens"),
        ("seed", "seed is not supported", {"seed": 1}, "max_completion_tokens"),
        ("reasoning_effort", "Unknown parameter: 'reasoning_effort'", {"reasoning_effort": "low"},
         "max_completion_tokens"),
    ],
)  # fmt: skip
async def test_a_refused_parameter_is_learnt_once(refused, words, request_options, kept):
    async with Fixed(strict_server(**{refused: words})) as server:
        backend = compatible(server.url)
        for text in ("one", "two", "three"):
            assert (await backend.complete(ask(text, **request_options))).text == "ok"
        assert [refused in body for body in server.bodies] == [True, False, False, False]
        assert kept in server.bodies[-1]
        fresh = compatible(server.url)
        assert fresh.dialect != backend.dialect, "what was learnt belongs to the instance"
        await backend.aclose()


async def test_max_tokens_servers_are_met_half_way_and_no_further():
    error, server = await complete(
        strict_server(
            max_completion_tokens="use max_tokens instead of max_completion_tokens",
            max_tokens="unknown field max_tokens",
        )
    )
    assert isinstance(error, FatalModelError) and "unknown field max_tokens" in str(error)
    assert len(server.bodies) == 2


async def test_a_value_out_of_range_teaches_nothing():
    words = "max_completion_tokens is too large: 8000. This model supports at most 4096 completion tokens"
    error, server = await complete(strict_server(max_completion_tokens=words))
    assert isinstance(error, FatalModelError) and "4096" in str(error) and len(server.bodies) == 1


async def test_schema_falls_back_step_by_step_to_the_prompt():
    def handler(body):
        if "response_format" not in body:
            return good('{"a": "b"}')
        return bad(400, f"response_format type {body['response_format']['type']} is not supported")

    _, server = await complete(handler, ask(schema=SCHEMA))
    forms = [body.get("response_format", {}).get("type") for body in server.bodies]
    assert forms == ["json_schema", "json_object", None]
    assert json.dumps(SCHEMA) in server.bodies[-1]["messages"][0]["content"]
    assert server.bodies[-1]["messages"][0]["content"].startswith("be brief")


async def test_refused_connection_and_silence_are_transient():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    backend = compatible(f"http://127.0.0.1:{port}/v1")
    with pytest.raises(TransientModelError, match="the connection failed"):
        await backend.complete(ask())
    async with LatencyServer(Behaviour(median_s=30, sigma=0)) as server:
        slow = compatible(server.url, timeout_s=0.1)
        with pytest.raises(TransientModelError, match=r"no answer within 0\.1 s"):
            await slow.complete(ask())
        await slow.aclose()


async def test_cut_reply_is_transient():
    async with LatencyServer(Behaviour(rate_cut=1.0)) as server:
        backend = compatible(server.url)
        with pytest.raises(TransientModelError):
            await backend.complete(ask("x" * 10_000))
        await backend.aclose()


def test_ambient_key_goes_to_its_own_provider_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert create({"model": "m"}).settings.api_key == SECRET
    assert create({"base_url": "https://api.openai.com/v1/"}).settings.api_key == SECRET
    for other in ("https://llm.example.com/v1", "http://127.0.0.1:1/v1", "https://api.openai.com.evil.example/v1"):
        assert create({"base_url": other}).settings.api_key == ""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="no API key"):
        create({})
    with pytest.raises(ConfigError, match="no API key"):
        create({"base_url": "http://api.openai.com/v1"})


async def test_nothing_of_the_environment_reaches_another_server(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    reply, server = await complete(lambda b: good())
    assert reply.text == "ok"
    assert SECRET not in str(dict(server.headers[0]))


@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        ("http://llm.example.com/v1", SECRET, "plain HTTP"),
        ("ftp://x/v1", "", "not an http"),
        ("localhost:8000", "", "not an http"),
        ("https://user:pass@x/v1", "", "credentials"),
    ],
)
def test_bad_addresses_are_refused_before_anything_is_sent(url, key, says):
    with pytest.raises(ConfigError, match=says) as caught:
        CompatibleSettings(model="m", base_url=url, api_key=key)
    assert SECRET not in str(caught.value) and "user:pass" not in str(caught.value)


def test_identity_holds_what_changes_the_answer_and_no_host_or_key():
    def identity(**s):
        return create({"model": "m", "base_url": "https://a.example/v1", **s}).identity()

    plain = identity()
    assert identity(base_url="https://b.example/v1", api_key="k" * 20, timeout_seconds=9) == plain
    for changed in ({"temperature": 0.5}, {"max_tokens": 10}, {"extra_body": {"x": 1}}, {"model": "n"}):
        assert identity(**changed) != plain


def test_importing_the_model_floor_stays_light():
    code = (
        "import sys, skillopt.model.client, skillopt.model.providers.openai_compatible, skillopt.testing.scripted;"
        "print([m for m in ('openai', 'httpx', 'httpx2', 'pydantic', 'aiohttp') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert out.stdout.strip() == "[]"


async def test_a_reply_that_echoes_the_key_is_masked_and_a_dummy_key_changes_nothing():
    reply, _ = await complete(lambda b: good(f"your key is {SECRET}"), api_key=SECRET)
    assert isinstance(reply, ChatReply) and reply.text == "your key is [redacted]"
    reply, _ = await complete(lambda b: good("run ollama serve"), api_key="ollama")
    assert isinstance(reply, ChatReply) and reply.text == "run ollama serve"
