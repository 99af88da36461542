"""The functions for people at a prompt: the documented line works as it stands, and keeps nothing secret in sight."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.core.errors import ConfigError, FatalModelError
from skillopt.model.router import Router
from skillopt.testing.latency_server import Behaviour, LatencyServer
from tests.model.providers.test_openai_compatible import Fixed, bad, good

LINE = """
from skillopt.model import set_target_backend, chat_target
set_target_backend('claude_chat')
text, usage = chat_target('You are a calculator. Reply with only the number.', 'What is 21 + 21?')
print('reply =', text.strip(), '| usage =', usage)
"""
CLAUDE = """#!/usr/bin/env python3
import json, sys
if "--version" in sys.argv:
    print("2.1.0 (Claude Code)"); sys.exit()
prompt = sys.stdin.read()
assert "21 + 21" in prompt, prompt
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "42", "num_turns": 1,
                  "session_id": "s", "total_cost_usd": 0.0, "usage": {"input_tokens": 30, "output_tokens": 2}}))
"""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if re.match(r"OPENAI|TARGET_|OPTIMIZER_|QWEN|AZURE|ANTHROPIC", name):
            monkeypatch.delenv(name)


def test_the_documented_line(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text(CLAUDE)
    program.chmod(0o755)
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "OPTIMIZER_BACKEND": "claude_chat",
        "TARGET_BACKEND": "claude_chat",
    }
    done = subprocess.run([sys.executable, "-c", LINE], env=environ, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"reply = 42 \| usage = \{.*'total_tokens': \d+\}\n", done.stdout), done.stderr


def test_a_real_server_inside_and_outside_of_a_loop(url: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    del url
    seen: list[tuple[str, object]] = []

    async def inside() -> None:
        async with LatencyServer(Behaviour(), keep_bodies=True) as server:
            monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
            router = Router()
            router.set_target_backend("openai_compatible", "m-1")
            router.set_optimizer_backend("openai_compatible", "m-2")
            for ask in (router.chat_target, router.chat_optimizer):
                seen.append(await asyncio.to_thread(ask, "be brief", "hello"))
            message, _ = await asyncio.to_thread(
                router.chat_messages, "target", [{"role": "user", "content": "again"}], return_message=True
            )
            assert message == {"role": "assistant", "content": "again"}

    asyncio.run(inside())
    assert [text for text, _ in seen] == ["hello", "hello"]
    assert all(isinstance(usage, dict) and usage["total_tokens"] for _, usage in seen)


async def test_faults(url: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    del url
    router = Router()
    with pytest.raises(ConfigError, match="unknown backend"):
        router.set_target_backend("claud_chat")
    assert router.chosen == {}
    router.set_target_backend("openai_compatible", "m")
    for handler, kind, words in (
        (lambda _: bad(401, "no such key sk-proj-abcdefghijklmnop1234567890"), FatalModelError, r"\[redacted\]"),
        (lambda _: good("half", finish="length"), FatalModelError, "was cut off"),
        (lambda _: good("half", finish="paused"), FatalModelError, "'paused'"),
    ):
        async with Fixed(handler) as server:
            monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", server.url)
            with pytest.raises(kind, match=words):
                await asyncio.to_thread(router.chat_target, "", "hello", retries=1)


async def test_in_a_running_loop_it_still_blocks(url: None, monkeypatch: pytest.MonkeyPatch) -> None:
    del url
    monkeypatch.setenv("TARGET_BACKEND", "scripted")
    text, usage = Router().chat_target("You are a calculator.", "What is 21 + 21?")
    assert text and usage["total_tokens"]
