"""A strict provider with batches: OpenAI's files and batches or Anthropic's Message Batches, beside the live API.

It refuses what the real ones refuse: unknown fields, a custom id that is too long or given twice, rows that go
elsewhere than their batch, results that are asked for too early. A batch ends after `looks` looks at it; results come
shuffled.
`before` and `after` are told of every request to the batch API, before it is done and before it is answered; `mangle`
makes of a file of results what is sent.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from aiohttp import web

from tests.model.providers.contract.anthropic_protocol import MessagesProtocol
from tests.model.providers.contract.openai_protocol import ChatProtocol
from tests.model.providers.contract.server import Fault, Protocol, Refused, Say, Seen, only

Script = Callable[[Seen], "Say | Fault | str"]
"""What becomes of a row or a live call; a text is `expired` or `canceled`, for rows only."""


def _nothing(number: int, what: str) -> None:
    """Nobody listens."""


@dataclass
class Batch:
    """One that was made."""

    id: str
    rows: list[tuple[str, Any]]
    metadata: dict[str, str]
    file: str
    made_at: float
    looks: int = 0
    status: str = "in_progress"
    failed: str = ""


@dataclass
class BatchProvider:
    """See the module. `port` 0 takes a free one."""

    protocol: Protocol
    script: Script = lambda seen: Say(f"echo {seen.turns[-1][1]}")
    live: Script | None = None
    looks: int = 2
    port: int = 0
    before: Callable[[int, str], Any] = _nothing
    after: Callable[[int, str], Any] = _nothing
    drop_metadata: bool = False
    mangle: Callable[[bytes], bytes] = bytes
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    live_bodies: list[Any] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    lost_with_children: int = 0

    @property
    def anthropic(self) -> bool:
        return isinstance(self.protocol, MessagesProtocol)

    @property
    def submitted(self) -> Counter[str]:
        """How often each key was handed over."""
        return Counter(key for batch in self.batches.values() for key, _ in batch.rows)

    @property
    def rows(self) -> list[Any]:
        return [body for batch in self.batches.values() for _, body in batch.rows]

    async def __aenter__(self) -> BatchProvider:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{tail:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        batching = "/batches" in request.path or "/files" in request.path
        what = f"{request.method} {re.sub(r'(batch|file)[_-][0-9a-f]+', '#', request.path)}"
        try:
            if not batching:
                return await self._live(request)
            self.asked.append(what)
            number = len(self.asked)
            fault = self.before(number, what)
            if isinstance(fault, Fault):
                return self._failed(fault)
            self._check_key(request)
            answer = await (self._anthropic(request) if self.anthropic else self._openai(request))
            if asyncio.iscoroutine(cut := self.after(number, what)):
                await cut
            elif cut:
                assert request.transport is not None
                request.transport.close()
            return answer
        except Refused as refusal:
            self.refusals.append(refusal.words)
            return web.json_response(
                self.protocol.error(refusal.status, refusal.words, refusal.kind), status=refusal.status
            )

    def _check_key(self, request: web.Request) -> None:
        if self.anthropic or getattr(self.protocol, "key", None):
            self._accept(request, None)

    def _accept(self, request: web.Request, row: Any, path: str = "") -> Seen:
        """The protocol's own check of a live request, for a row; without one, of the key only."""
        path = path or ("/v1/messages" if self.anthropic else "/v1/chat/completions")
        fake: Any = SimpleNamespace(
            method="POST", path=path, headers=request.headers, content_type="application/json", query={}
        )
        if row is not None:
            return self.protocol.accept(fake, row)
        small: Any = {"model": "model-1", "max_tokens": 1, "messages": [{"role": "user", "content": [
            {"type": "text", "text": "x"}]}]}  # fmt: skip
        return self.protocol.accept(fake, small)

    def _failed(self, fault: Fault) -> web.Response:
        body = self.protocol.error(fault.status, fault.words)
        return web.json_response(body, status=fault.status, headers=dict(fault.headers))

    async def _live(self, request: web.Request) -> web.Response:
        body = await request.json()
        seen = self.protocol.accept(request, body)
        self.live_bodies.append(body)
        said = (self.live or self.script)(seen)
        if isinstance(said, Fault):
            return self._failed(said)
        return web.json_response(self.protocol.reply(said if isinstance(said, Say) else Say("late"), seen.cap))

    # --- OpenAI -------------------------------------------------------------------------------------------------------

    async def _openai(self, request: web.Request) -> web.Response:
        parts = request.path.removeprefix("/v1/").split("/")
        match (request.method, *parts):
            case ("POST", "files"):
                return await self._upload(request)
            case ("GET", "files", file):
                return web.json_response({"id": file, "object": "file", "filename": self._file(file)[0]})
            case ("GET", "files", file, "content"):
                return web.Response(body=self.mangle(self._file(file)[1]))
            case ("POST", "batches"):
                return web.json_response(self._batch_json(self._make(request, await request.json())))
            case ("GET", "batches"):
                return self._list(request)
            case ("GET", "batches", name):
                return web.json_response(self._batch_json(self._look(name)))
            case ("POST", "batches", name, "cancel"):
                self._find(name).status = "cancelled"
                return web.json_response(self._batch_json(self._find(name)))
        raise Refused(404, f"Invalid URL ({request.method} {request.path})")

    async def _upload(self, request: web.Request) -> web.Response:
        fields: dict[str, Any] = {}
        async for part in await request.multipart():
            fields[part.name] = (part.filename, bytes(await part.read())) if part.filename else await part.text()
        only(fields, {"purpose", "file", "expires_after"})
        if fields.get("purpose") != "batch" or not str(fields["file"][0]).endswith(".jsonl"):
            raise Refused(400, "a batch's file has the purpose 'batch' and ends in .jsonl")
        name = f"file-{len(self.files):06x}"
        self.files[name] = fields["file"]
        return web.json_response({"id": name, "object": "file", "filename": fields["file"][0], "purpose": "batch"})

    def _make(self, request: web.Request, body: Any) -> Batch:
        only(body, {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"})
        if body["completion_window"] != "24h" or body["endpoint"] not in ("/v1/chat/completions", "/v1/responses"):
            raise Refused(400, "Invalid value: completion_window or endpoint")
        metadata = body.get("metadata", {})
        if any(len(k) > 64 or not isinstance(v, str) or len(v) > 512 for k, v in metadata.items()):
            raise Refused(400, "metadata: too long")
        _, data = self._file(body["input_file_id"])
        rows: list[tuple[str, Any]] = []
        for line in data.splitlines():
            row = json.loads(line)
            if set(row) != {"custom_id", "method", "url", "body"} or row["method"] != "POST":
                raise Refused(400, "a row has custom_id, method, url and body")
            if row["url"] != body["endpoint"]:
                raise Refused(400, "mismatched_endpoint")
            rows.append((row["custom_id"], row["body"]))
        self._check_ids([key for key, _ in rows])
        metadata = {} if self.drop_metadata else metadata
        batch = self._add(rows, metadata, body["input_file_id"])
        self._answer(request, batch, body["endpoint"])
        return batch

    def _check_ids(self, keys: list[str]) -> None:
        if len(set(keys)) < len(keys):
            raise Refused(400, "duplicate_custom_id")
        if any(not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key) for key in keys) or not keys:
            raise Refused(400, "custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")

    def _add(self, rows: list[tuple[str, Any]], metadata: dict[str, str], file: str) -> Batch:
        name = f"{'msgbatch' if self.anthropic else 'batch'}_{len(self.batches):06x}"
        self.batches[name] = Batch(name, rows, metadata, file, time.time())
        return self.batches[name]

    def _answer(self, request: web.Request, batch: Batch, path: str) -> None:
        """What will have come of the rows, shuffled."""
        lines: list[tuple[str, Any, Any]] = []
        for key, body in batch.rows:
            try:
                seen = self._accept(request, body, path)
                said = self.script(seen)
            except Refused as refusal:
                said = Fault(refusal.status, refusal.words)
                seen = Seen()
            reply = self.protocol.reply(said, seen.cap) if isinstance(said, Say) else None
            lines.append((key, said, reply))
        random.Random(len(lines)).shuffle(lines)
        self.lines = {**getattr(self, "lines", {}), batch.id: lines}

    def _list(self, request: web.Request) -> web.Response:
        only(request.query, {"limit", "after", "after_id", "before_id"})
        size, after = int(request.query.get("limit", 20)), request.query.get("after") or request.query.get("after_id")
        names = sorted(self.batches, reverse=True)
        names = [name for name in names if not after or name < after]
        data = [self._batch_json(self.batches[name]) for name in names[:size]]
        last = data[-1]["id"] if data else None
        return web.json_response({"data": data, "has_more": len(names) > size, "last_id": last, "first_id": None})

    def _batch_json(self, batch: Batch) -> Any:
        if self.anthropic:
            return self._message_batch(batch)
        ended = batch.status in ("completed", "cancelled")
        lines = self.lines[batch.id] if ended else []
        out = b"".join(self._line(line) for line in lines if isinstance(line[1], Say))
        err = b"".join(self._line(line) for line in lines if isinstance(line[1], Fault))
        files = {}
        for name, data in (("output_file_id", out), ("error_file_id", err)):
            files[name] = f"{batch.id}-{name}" if data else None
            self.files[f"{batch.id}-{name}"] = ("out.jsonl", data)
        return {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "input_file_id": batch.file, "status": batch.status, "created_at": int(batch.made_at), **files,
            "metadata": batch.metadata or None,
            "errors": {"object": "list", "data": [{"message": batch.failed}]} if batch.failed else None,
            "request_counts": {"total": len(batch.rows), "completed": len(batch.rows) if ended else 0, "failed": 0},
        }  # fmt: skip

    def _line(self, line: tuple[str, Any, Any]) -> bytes:
        key, said, reply = line
        status = 200 if isinstance(said, Say) else said.status
        body = reply if isinstance(said, Say) else self.protocol.error(status, said.words)
        response = {"status_code": status, "request_id": "r", "body": body}
        return json.dumps({"id": "x", "custom_id": key, "response": response, "error": None}).encode() + b"\n"

    def _file(self, name: str) -> tuple[str, bytes]:
        if name not in self.files:
            raise Refused(404, f"No such File object: {name}")
        return self.files[name]

    def _find(self, name: str) -> Batch:
        if name not in self.batches:
            raise Refused(404, f"No batch found with id '{name}'")
        return self.batches[name]

    def _look(self, name: str) -> Batch:
        batch = self._find(name)
        batch.looks += 1
        if batch.looks >= self.looks and batch.status == "in_progress":
            batch.status = "failed" if batch.failed else "completed"
        return batch

    # --- Anthropic ----------------------------------------------------------------------------------------------------

    async def _anthropic(self, request: web.Request) -> web.Response:
        parts = request.path.removeprefix("/v1/messages/").split("/")
        match (request.method, *parts):
            case ("POST", "batches"):
                body = await request.json()
                only(body, {"requests"})
                for row in body["requests"]:
                    only(row, {"custom_id", "params"}, "requests.")
                    if "stream" in row["params"] or row["params"]["max_tokens"] < 1:
                        raise Refused(400, "requests.params: stream is not supported")
                self._check_ids([row["custom_id"] for row in body["requests"]])
                rows = [(row["custom_id"], row["params"]) for row in body["requests"]]
                batch = self._add(rows, {}, "")
                self._answer(request, batch, "/v1/messages")
                return web.json_response(self._message_batch(batch))
            case ("GET", "batches"):
                return self._list(request)
            case ("GET", "batches", name):
                return web.json_response(self._message_batch(self._look(name)))
            case ("GET", "batches", name, "results"):
                batch = self._find(name)
                if batch.status == "in_progress":
                    raise Refused(404, f"Batch {name} has no available results.")
                return web.Response(body=self.mangle(b"".join(self._result(line) for line in self.lines[name])))
            case ("POST", "batches", name, "cancel"):
                self._find(name).status = "cancelled"
                return web.json_response(self._message_batch(self._find(name)))
        raise Refused(404, "Not Found")

    def _message_batch(self, batch: Batch) -> Any:
        ended = batch.status != "in_progress"
        counts = {"processing": 0 if ended else len(batch.rows), "succeeded": len(batch.rows) if ended else 0,
                  "errored": 0, "canceled": 0, "expired": 0}  # fmt: skip
        made = time.strftime("%Y-%m-%dT%H:%M:%S.123456Z", time.gmtime(batch.made_at))
        return {
            "id": batch.id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts, "created_at": made, "expires_at": made, "ended_at": made if ended else None,
            # Somebody else's address: the key must not go there.
            "results_url": "https://elsewhere.example/results" if ended else None,
            "archived_at": None, "cancel_initiated_at": None,
        }  # fmt: skip

    def _result(self, line: tuple[str, Any, Any]) -> bytes:
        key, said, reply = line
        if isinstance(said, Say):
            result: Any = {"type": "succeeded", "message": reply}
        elif isinstance(said, Fault):
            result = {"type": "errored", "error": self.protocol.error(said.status, said.words)}
        else:
            result = {"type": said}
        return json.dumps({"custom_id": key, "result": result}).encode() + b"\n"


def provider(kind: str, **more: Any) -> BatchProvider:
    """One of a kind: `openai` or `anthropic`."""
    return BatchProvider(MessagesProtocol() if kind == "anthropic" else ChatProtocol(), **more)
