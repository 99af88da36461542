"""A provider that speaks four dialects, whole and as a stream, for programs behind the proxy. It counts what is under
way, refuses above a width, and notes the keys it was given."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

KEY = "sk-real-key-0123456789abcdef"


class Provider:
    def __init__(self, *, width: int = 1000, seconds: float = 0.0) -> None:
        self.width, self.seconds = width, seconds
        self.now = self.most = self.refused = 0
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.first: list[web.Response] = []
        """What is said to the next requests instead."""
        self.torn = False
        self.gate: asyncio.Event | None = None
        self.port = 0

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Provider:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else {}
        self.seen.append((request.path_qs, dict(request.headers), body))
        if self.now >= self.width:
            self.refused += 1
            return web.json_response({"error": {"message": "too many"}}, status=429, headers={"retry-after": "0"})
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(self.seconds)
            if self.first:
                return self.first.pop(0)
            return await self._said(request, body)
        finally:
            self.now -= 1

    async def _said(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        dialect = next((d for d in WHOLE if d in request.path), "")
        if not dialect:
            return web.json_response({"data": []})
        if not (body.get("stream") or "stream" in request.path):
            return web.json_response(WHOLE[dialect])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        events = STREAMS[dialect]
        for event in events[:1] if self.torn else events:
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        if self.torn:
            assert request.transport is not None
            request.transport.abort()
        elif dialect == "chat":
            await response.write(b"data: [DONE]\n\n")
        return response


_CHAT = {"prompt_tokens": 11, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
_RESPONSES = {"input_tokens": 11, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
_MESSAGES = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 5}
_CONTENTS = {
    "promptTokenCount": 11, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4
}  # fmt: skip

WHOLE: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": _CHAT},
    "responses": {"status": "completed", "error": None, "output": [], "usage": _RESPONSES},
    "messages": {"type": "message", "content": [], "stop_reason": "end_turn", "usage": _MESSAGES},
    "models": {"candidates": [{"finishReason": "STOP"}], "usageMetadata": _CONTENTS},
}
STREAMS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"choices": [{"delta": {"content": "hi"}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": _CHAT},
    ],
    "responses": [
        {"type": "response.created", "response": {"status": "in_progress", "usage": None}},
        {"type": "response.completed", "response": WHOLE["responses"]},
    ],
    "messages": [
        {"type": "message_start", "message": {"usage": {**_MESSAGES, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ],
    "models": [
        {"candidates": [{"content": {}}], "usageMetadata": {"promptTokenCount": 11}},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": _CONTENTS},
    ],
}
