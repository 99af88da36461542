"""OpenAI's Batch API, and that of any server which speaks it: a file of requests, a batch over it, a file of answers.

All rows of a batch go to one path, in the form that the server is known to take when they are sent. `metadata` carries
our tag, so that a batch whose creation was not heard of is found again; where a server keeps no metadata, the name of
its file says it. Files stay below a fifth of the provider's limits: they are read as a whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from skillopt.core.errors import FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.core.shorten import shorten
from skillopt.model.batch.contract import BatchLimits, BatchState, Row, RowResult
from skillopt.model.providers.batches.lines import rows_of
from skillopt.model.providers.wire import sdk
from skillopt.model.providers.wire.encodable import encodable
from skillopt.model.providers.wire.reply import is_filtered, parse_body, status_error, whole
from skillopt.model.types import ChatReply

if TYPE_CHECKING:
    from skillopt.model.providers.openai_compatible import CompatibleBackend

TAG = "skillopt"
_ENDED = ("completed", "failed", "expired", "cancelled")
_PAGE, _PAGES = 100, 20
_SKEW_S = 300
"""Clocks of two machines may differ by so much."""


class OpenAIBatches:
    """A `BatchApi` of a backend's endpoint, with its key and its form of a request."""

    limits = BatchLimits(rows=10_000, bytes=40_000_000)
    keeps_prefix = False

    def __init__(self, backend: CompatibleBackend) -> None:
        self._backend = backend

    def size(self, row: Row) -> int:
        """Bytes of a row on the wire."""
        return len(self._line(row))

    def _line(self, row: Row) -> bytes:
        body = self._backend.body(encodable(row.request))
        line = {"custom_id": row.key, "method": "POST", "url": f"/v1{self._backend.path}", "body": body}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    async def check(self) -> None:
        """A list of one batch."""
        await self._get("/batches", limit=1)

    async def send(self, rows: Sequence[Row], *, tag: str) -> str:
        """Upload the rows, then make the batch."""
        sending, url = self._backend.sending, f"/v1{self._backend.path}"
        data = b"".join(self._line(row) for row in rows)
        form: JsonObject = {"purpose": "batch"}
        text = await sending.upload("/files", f"{TAG}-{tag}.jsonl", data, form, where=self._at("/files"))
        file = self._named(text, "/files")
        body: JsonObject = {
            "input_file_id": file, "endpoint": url, "completion_window": "24h", "metadata": {TAG: tag},
        }  # fmt: skip
        return self._named(await sending.post("/batches", body, where=self._at("/batches")), "/batches")

    async def find(self, tag: str, *, rows: int, since: float, known: Collection[str]) -> str | None:
        """Look through the newest batches for the tag."""
        del rows, known
        after = ""
        for _ in range(_PAGES):
            query: dict[str, str | int] = {"limit": _PAGE, **({"after": after} if after else {})}
            page = await self._get("/batches", **query)
            batches = [as_object(entry) for entry in as_array(page.get("data"))]
            for batch in batches:
                if await self._is(batch, tag, since):
                    return as_text(batch.get("id"))
            oldest = whole(batches[-1].get("created_at")) if batches else None
            if not page.get("has_more") or (oldest is not None and oldest < since - _SKEW_S):
                return None
            after = as_text(batches[-1].get("id"))
        return None

    async def _is(self, batch: dict[str, JsonValue], tag: str, since: float) -> bool:
        """Whether a batch carries the tag; the file's name is asked for only where the batch itself cannot say."""
        told = as_object(batch.get("metadata")).get(TAG)
        file = as_text(batch.get("input_file_id"))
        if told is not None or not file or (whole(batch.get("created_at")) or 0) < since - _SKEW_S:
            return told == tag
        return tag in as_text((await self._get(f"/files/{quote(file, safe='')}")).get("filename"))

    async def state(self, batch: str) -> BatchState:
        """Its status and counts."""
        found = await self._get(f"/batches/{quote(batch, safe='')}")
        counts = as_object(found.get("request_counts"))
        done = (whole(counts.get("completed")) or 0) + (whole(counts.get("failed")) or 0)
        errors = as_array(as_object(found.get("errors")).get("data"))
        words = "; ".join(as_text(as_object(error).get("message")) for error in errors[:3])
        status = as_text(found.get("status"))
        reason = shorten(words or "no explanation", 300, self._backend.secrets) if status == "failed" else ""
        return BatchState(status in _ENDED, done, whole(counts.get("total")) or 0, reason)

    async def results(self, batch: str) -> AsyncIterator[tuple[str, RowResult]]:
        """The lines of the file of answers, then those of the file of errors."""
        found = await self._get(f"/batches/{quote(batch, safe='')}")
        for name in ("output_file_id", "error_file_id"):
            file = as_text(found.get(name))
            if not file:
                continue
            path = f"/files/{quote(file, safe='')}/content"
            for row in rows_of(await self._backend.sending.get(path, where=self._at(path)), self._at(path)):
                if isinstance(row, TransientModelError):
                    yield "", row
                else:
                    yield as_text(row.get("custom_id")), self._result(row, self._at(path))

    def _result(self, row: dict[str, JsonValue], where: str) -> RowResult:
        response = as_object(row.get("response"))
        status = whole(response.get("status_code")) or 0
        body = json.dumps(response.get("body"), ensure_ascii=False)
        try:
            if status == 200:
                return self._backend.read(body, where)
            if is_filtered(status, body):
                return ChatReply("", "refusal", model=self._backend.model)
            if status:
                return status_error(status, body, {}, where=where, secrets=self._backend.secrets)
        except sdk.Filtered:
            return ChatReply("", "refusal", model=self._backend.model)
        except ModelError as error:
            return error
        words = as_text(as_object(row.get("error")).get("message")) or "no answer"
        return TransientModelError(f"{where}: {shorten(words, 300, self._backend.secrets)}")

    async def cancel(self, batch: str) -> None:
        """What was answered by then stands in its files."""
        path = f"/batches/{quote(batch, safe='')}/cancel"
        await self._backend.sending.post(path, {}, where=self._at(path))

    async def _get(self, path: str, **query: str | int) -> dict[str, JsonValue]:
        text = await self._backend.sending.get(path, where=self._at(path), query=query)
        return as_object(parse_body(text, self._at(path)))

    def _named(self, text: str, path: str) -> str:
        """The id of what was made."""
        found = as_text(as_object(parse_body(text, self._at(path))).get("id"))
        if not found:
            raise FatalModelError(f"{self._at(path)} named nothing: {shorten(text, 200)}", cause="foreign")
        return found

    def _at(self, path: str) -> str:
        return f"{self._backend.endpoint}{path}"
