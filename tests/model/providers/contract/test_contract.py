"""The contract of a backend, the same for all: through the real SDKs, against servers that check every field."""

from __future__ import annotations

import asyncio
import base64
import gc
import json

import pytest

from skillopt.core.errors import ConfigError, ContextOverflow, FatalModelError, ModelError, TransientModelError
from skillopt.model.replies import parse_reply
from skillopt.model.types import ChatRequest, Message, Usage
from tests.model.model_support import ask

from .conftest import Make
from .server import KEY, MODEL, Fault, ProviderServer, Say

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8ff9f010003fe01fe"
    )
).decode()
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "high"}}
WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}  # fmt: skip


async def test_text(place: Make) -> None:
    p = await place(lambda seen: Say("forty-two"))
    reply = await p.backend.complete(ask("21 + 21", system="reply with the number"))
    assert (reply.text, reply.finish, reply.model) == ("forty-two", "stop", f"{MODEL}-served")
    (seen,) = p.server.seen
    assert (seen.system, seen.turns) == ("reply with the number", [("user", "21 + 21")])
    assert not p.server.refusals or p.case.name == "minimax"


async def test_without_a_system_prompt_and_with_a_conversation(place: Make) -> None:
    p = await place()
    turns = (Message("user", "one"), Message("assistant", "two"), Message("user", "three"))
    await p.backend.complete(ChatRequest(turns, "rollout"))
    assert p.server.seen[0].turns == [("user", "one"), ("assistant", "two"), ("user", "three")]
    assert p.server.seen[0].system == ""


async def test_options_reach_the_provider(place: Make) -> None:
    p = await place()
    await p.backend.complete(ask(temperature=0.3, max_completion_tokens=321, reasoning_effort="low"))
    seen = p.server.seen[-1]
    assert (seen.temperature, seen.cap) == (0.3 if p.case.temperature else None, 321)
    assert seen.effort == ("low" if p.case.effort else "")


async def test_schema(place: Make) -> None:
    p = await place(lambda seen: Say('{"a": "b"}'))
    reply = await p.backend.complete(ask(schema=SCHEMA, schema_name="patch"))
    assert parse_reply(reply.text) == {"a": "b"}
    seen = p.server.seen[-1]
    if p.case.native_schema:
        assert seen.schema == SCHEMA
    else:
        assert json.dumps(SCHEMA) in seen.system, "a provider without schemas is told in the prompt"


async def test_tools_there_and_back(place: Make) -> None:
    calls = [("call_1", "weather", {"city": "Ōsaka"}), ("call_2", "weather", {"city": "Łódź"})]
    p = await place(lambda seen: Say("rain") if seen.tool_results else Say("", "tool_calls", calls=calls))
    first = ask("where does it rain?", tools=(WEATHER,))
    reply = await p.backend.complete(first)
    assert reply.finish == "tool_calls"
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.tool_calls] == calls
    results = (
        Message("tool", "sunny", tool_call_id="call_1"),
        Message("tool", "rain", tool_call_id="call_2"),
    )
    second = ChatRequest((*first.messages, reply.message(), *results), "rollout", tools=(WEATHER,))
    assert (await p.backend.complete(second)).text == "rain"
    assert p.server.seen[-1].tool_results == {"call_1": "sunny", "call_2": "rain"}
    assert p.server.seen[-1].tools == ["weather"]


@pytest.mark.parametrize("choice", ["required", "auto", {"type": "function", "function": {"name": "weather"}}])
async def test_tool_choice(place: Make, choice: object) -> None:
    p = await place()
    await p.backend.complete(ask(tools=(WEATHER,), tool_choice=choice))
    sent = p.server.seen[-1].tool_choice
    wanted = {"responses": {"type": "function", "name": "weather"}, "anthropic": {"type": "tool", "name": "weather"}}
    words = {"anthropic": {"required": {"type": "any"}, "auto": {"type": "auto"}}}
    if isinstance(choice, dict):
        assert sent == wanted.get(p.case.name, choice)
    else:
        assert sent == words.get(p.case.name, {}).get(str(choice), choice)


async def test_images_arrive_byte_for_byte(place: Make) -> None:
    p = await place()
    link = {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}}
    content = ({"type": "text", "text": "what is it?"}, IMAGE, link)
    await p.backend.complete(ChatRequest((Message("user", content),), "rollout"))
    assert p.server.seen[-1].images == [IMAGE["image_url"]["url"], "https://images.example/a.png"]
    assert p.server.seen[-1].turns == [("user", "what is it?")]


@pytest.mark.parametrize(
    ("say", "text", "finish"),
    [
        (Say("cut", "length"), "cut", "length"),
        (Say("", "length"), "", "length"),
        (Say("", "refusal", refusal="I must not."), "I must not.", "refusal"),
        (Say("", "refusal"), "", "refusal"),
        (Say(""), "", "stop"),
        (Say("error 401: Invalid API key"), "error 401: Invalid API key", "stop"),
    ],
)
async def test_stop_reasons(place: Make, say: Say, text: str, finish: str) -> None:
    p = await place(lambda seen: say)
    reply = await p.backend.complete(ask())
    assert (reply.text, reply.finish) == (text, finish)


async def test_empty_with_length_raises_the_cap_once(place: Make, rig: Make) -> None:
    p = await place(lambda seen: Say("", "length", usage=(10, seen.cap, 0, seen.cap)) if seen.cap < 500 else Say("now"))
    reply = await rig(p.backend).chat(max_completion_tokens=200)
    assert reply.text == "now" and [seen.cap for seen in p.server.seen] == [200, 800]
    p = await place(lambda seen: Say("", "length", usage=(10, seen.cap, 0, seen.cap)))
    reply = await rig(p.backend).chat(max_completion_tokens=200)
    assert (reply.text, reply.finish) == ("", "length") and len(p.server.seen) == 2


async def test_a_raised_cap_that_the_model_refuses_ends_in_what_it_said(place: Make, rig: Make) -> None:
    too_much = Fault(400, "max_tokens is too large: this model supports at most 500 completion tokens")
    p = await place(lambda seen: Say("", "length", usage=(10, seen.cap, 0, 0)) if seen.cap < 500 else too_much)
    reply = await rig(p.backend).chat(max_completion_tokens=200)
    assert (reply.text, reply.finish) == ("", "length") and len(p.server.seen) == 2
    p.server.script = lambda seen: Say("", "length", usage=(10, seen.cap, 0, 0)) if seen.cap < 500 else Fault(401, "x")
    with pytest.raises(FatalModelError, match="401"):
        await rig(p.backend).chat(max_completion_tokens=200)


async def test_usage_is_read_whole_and_absent_is_unknown(place: Make) -> None:
    p = await place(lambda seen: Say(usage=(100, 20, 64, 5)))
    written = 18 if p.case.name == "anthropic" else None
    assert (await p.backend.complete(ask())).usage == Usage(100, 20, 64, 5, written)
    p = await place(lambda seen: Say(usage=None))
    assert (await p.backend.complete(ask())).usage == Usage(None, None, None, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_fatal_statuses_name_the_address_and_the_servers_words(place: Make, status: int) -> None:
    p = await place(lambda seen: Fault(status, f"no good \n for key {KEY}"))
    with pytest.raises(FatalModelError) as caught:
        await p.backend.complete(ask())
    text = str(caught.value)
    assert f"answered {status}: no good for key" in text and p.server.root in text
    assert "\n" not in text and len(p.server.bodies) == 1
    assert not p.case.keyed or KEY not in text


@pytest.mark.parametrize(
    ("status", "overloaded"), [(408, False), (409, False), (429, True), (500, False), (502, False), (503, True)]
)
async def test_passing_statuses(place: Make, status: int, overloaded: bool) -> None:
    p = await place(lambda seen: Fault(status, "later"))
    with pytest.raises(TransientModelError, match=f"answered {status}: later") as caught:
        await p.backend.complete(ask())
    assert caught.value.overloaded is overloaded and len(p.server.bodies) == 1, "the SDK's own retries are off"


@pytest.mark.cases(2)
async def test_retry_after_is_obeyed(place: Make, rig: Make) -> None:
    faults = iter([Fault(429, "slow down", {"Retry-After": "7"}), Fault(429, "again", {"retry-after-ms": "40"})])
    p = await place(lambda seen: next(faults, Say("done")))
    with pytest.raises(TransientModelError) as caught:
        await p.backend.complete(ask())
    assert caught.value.retry_after == 7
    made = rig(p.backend)
    assert (await made.chat()).text == "done"
    assert made.backoff.asked == [0.04]


async def test_too_long_a_prompt_is_the_items_fault_alone(place: Make) -> None:
    for fault in (Fault(400, "prompt is too long: 210000 tokens > 200000 maximum"), Fault(413, "Request too large")):
        p = await place(lambda seen, fault=fault: fault)
        with pytest.raises(ContextOverflow):
            await p.backend.complete(ask())


@pytest.mark.parametrize(
    "words",
    [
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "Output blocked by content filtering policy",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    ],
)
async def test_the_providers_filter_is_a_refusal(place: Make, words: str) -> None:
    """One item's content must not end the run of all the others."""
    p = await place(lambda seen: Fault(400, words))
    reply = await p.backend.complete(ask())
    assert (reply.text, reply.finish, reply.usage) == ("", "refusal", Usage())


@pytest.mark.parametrize(
    "raw",
    [b"", b"   ", b"<html>gateway</html>", b'{"choices": [', b'{"content": "x', b"[1, 2]", b"null", b'"text"', b"{}",
     b"\xff\xfe\x00", b'{"choices": []}', b'{"content": null}', b'{"output": "x"}', b'{"error": {"message": "lost"}}'],
)  # fmt: skip
async def test_garbage_is_no_answer(place: Make, raw: bytes) -> None:
    p = await place(lambda seen: Fault(raw=raw))
    with pytest.raises(TransientModelError, match=p.server.root):
        await p.backend.complete(ask())


async def test_a_cut_reply_is_no_answer(place: Make) -> None:
    p = await place(lambda seen: Fault(cut=True))
    with pytest.raises(TransientModelError):
        await p.backend.complete(ask())


@pytest.mark.cases(2)
async def test_silence_ends_at_the_timeout(place: Make) -> None:
    if (await place()).case.name == "local":
        pytest.skip("a small machine may think long: the caller's deadline is the one that counts")
    p = await place(lambda seen: Fault(hang=True), timeout_seconds=0.3)
    with pytest.raises(TransientModelError, match=r"no answer within 0\.3 s"):
        await p.backend.complete(ask())


async def test_nobody_listens(place: Make) -> None:
    p = await place()
    async with ProviderServer(p.server.protocol) as gone:
        root = gone.root
    backend = p.case.backend(root)
    with pytest.raises(TransientModelError, match="the connection failed"):
        await backend.complete(ask())
    await backend.aclose()


async def test_cancellation_leaves_nothing_running(place: Make) -> None:
    p = await place(lambda seen: Fault(hang=True) if "wait" in seen.turns[-1][1] else Say("after"))
    await p.backend.complete(ask("warm up"))
    before = asyncio.all_tasks()
    p.server.arrived.clear()
    task = asyncio.create_task(p.backend.complete(ask("wait")))
    await asyncio.wait_for(p.server.arrived.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(100):
        if not p.server.in_flight:
            break
        await asyncio.sleep(0.02)
    assert not p.server.in_flight and p.server.dropped == 1, "the server is not left working"
    assert {t for t in asyncio.all_tasks() if not t.done()} <= before
    assert (await p.backend.complete(ask("again"))).text == "after"


async def test_unicode(place: Make) -> None:
    text = (
        "naïve 日本語 🧪👩‍🔬 \u202eright\u202c to left العربية \r\n\ttab \x00 \u2028 e\u0301 'quote' \"double\" \\back"
    )
    p = await place(lambda seen: Say(seen.turns[-1][1]))
    assert (await p.backend.complete(ask(text, system=text))).text == text
    assert p.server.seen[-1].system == text
    reply = await p.backend.complete(ask("half \ud83d of a pair"))
    assert reply.text == "half \ufffd of a pair"


async def test_a_megabyte_each_way(place: Make) -> None:
    text = "".join(f"line {i} of the very long prompt – with an em dash\n" for i in range(21_000))
    assert len(text.encode()) > 1_000_000
    p = await place(lambda seen: Say(seen.turns[-1][1]))
    assert (await p.backend.complete(ask(text, max_completion_tokens=10_000_000))).text == text


async def test_many_at_once(place: Make) -> None:
    p = await place(lambda seen: Say(seen.turns[-1][1]))
    replies = await asyncio.gather(*(p.backend.complete(ask(f"n{i}")) for i in range(40)))
    assert [reply.text for reply in replies] == [f"n{i}" for i in range(40)]


async def test_a_refused_parameter_is_learnt_once(place: Make) -> None:
    name = (await place()).case.refusable
    p = await place(refuse=frozenset({name}))
    for text in ("one", "two"):
        await p.backend.complete(ask(text, temperature=0.2, reasoning_effort="" if name == "temperature" else "low"))
    assert [name in r.words for r in p.server.refusals] == [True]
    assert [(seen.temperature, seen.effort) for seen in p.server.seen] == [(None, "")] * 2


async def test_a_wrong_key(place: Make) -> None:
    p = await place()
    if not p.case.keyed:
        pytest.skip("no key")
    wrong = "sk-wrong-" + "9f8e7d6c" * 4
    backend = p.case.backend(p.server.root, api_key=wrong)
    with pytest.raises(FatalModelError, match="401") as caught:
        await backend.complete(ask())
    assert caught.value.cause == "key"
    assert wrong not in str(caught.value) and len(p.server.refusals) == 1
    await backend.aclose()


async def test_a_wrong_address(place: Make) -> None:
    p = await place()
    backend = p.case.backend(f"{p.server.root}/nowhere")
    with pytest.raises(FatalModelError, match=rf"{p.server.root}/nowhere.*404") as caught:
        await backend.complete(ask())
    assert caught.value.cause in ("address", "model")  # some servers call a path they do not have a model
    await backend.aclose()


async def test_an_unknown_model(place: Make) -> None:
    p = await place()
    if p.case.name == "local":
        with pytest.raises((ConfigError, ModelError), match="no-such-model"):
            p.case.backend(p.server.root, model="no-such-model")
        return
    if p.case.name == "responses":
        pytest.skip("another name is not of the family that this API serves")
    backend = p.case.backend(p.server.root, model="no-such-model")
    with pytest.raises(FatalModelError, match="404: ") as caught:
        await backend.complete(ask())
    assert caught.value.cause == "model"
    await backend.aclose()


async def test_a_redirect_is_not_followed(place: Make) -> None:
    p = await place()
    async with ProviderServer(p.server.protocol) as elsewhere:
        to = {"Location": f"{elsewhere.root}/v1/chat/completions"}
        p.server.script = lambda seen: Fault(307, "moved", to)
        with pytest.raises(FatalModelError, match="307") as caught:
            await p.backend.complete(ask())
        assert caught.value.cause == "moved"
        assert not elsewhere.headers, "the key would have gone along"


async def test_ambient_credentials_do_not_travel(place: Make) -> None:
    p = await place()
    await p.backend.complete(ask())
    assert "ambient-credential" not in str(p.server.headers)


async def test_identity_holds_no_host_and_no_key(place: Make) -> None:
    p = await place()
    other = p.case.backend("http://127.0.0.1:9", **({"api_key": KEY[::-1]} if p.case.keyed else {}))
    assert p.backend.identity() == other.identity()
    assert KEY not in str(p.backend.identity()) and KEY not in p.backend.endpoint and KEY not in repr(p.backend)
    assert p.case.backend("http://127.0.0.1:9", max_tokens=123).identity() != other.identity() or not p.case.keyed


@pytest.mark.cases(2)
async def test_closing_twice_and_never_opened(place: Make) -> None:
    p = await place()
    await p.backend.complete(ask())
    await p.backend.aclose()
    await p.backend.aclose()
    await p.case.backend(p.server.root).aclose()
    gc.collect()
