"""Anthropic's Message Batches: requests in one body, results as lines once all of it has ended.

The API has no place for a tag. A batch whose creation was not heard of is looked for among those of its number of rows
that were made since; whether it is the one shows in its results, whose rows carry our keys. Results are read from the
endpoint that the key belongs to, not from the address that a reply names. Batches stay below a fifth of the provider's
limits: they are read as a whole.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from skillopt.core.errors import FatalModelError, ModelError, TransientModelError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.core.shorten import shorten
from skillopt.model.batch.contract import BatchLimits, BatchState, Row, RowResult
from skillopt.model.providers.batches.lines import rows_of
from skillopt.model.providers.wire.encodable import encodable
from skillopt.model.providers.wire.reply import is_filtered, parse_body, status_error, whole
from skillopt.model.types import ChatReply

if TYPE_CHECKING:
    from skillopt.model.providers.anthropic_api import AnthropicBackend

PATH = "/v1/messages/batches"
_SKEW_S = 300.0
"""Clocks of two machines may differ by so much."""
_PAGE, _PAGES = 100, 20
_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


class AnthropicBatches:
    """A `BatchApi` of a backend's endpoint, with its key and its form of a request."""

    limits = BatchLimits(rows=10_000, bytes=50_000_000)
    keeps_prefix = True

    def __init__(self, backend: AnthropicBackend) -> None:
        self._backend = backend

    def size(self, row: Row) -> int:
        """Bytes of a row on the wire."""
        return len(json.dumps(self._row(row), ensure_ascii=False).encode())

    def _row(self, row: Row) -> JsonObject:
        return {"custom_id": row.key, "params": self._backend.body(encodable(row.request))}

    async def check(self) -> None:
        """A list of one batch."""
        await self._get(PATH, limit=1)

    async def send(self, rows: Sequence[Row], *, tag: str) -> str:
        """One body with all rows."""
        del tag
        where = self._at(PATH)
        text = await self._backend.sending.post(PATH, {"requests": [self._row(row) for row in rows]}, where=where)
        name = as_text(as_object(parse_body(text, where)).get("id"))
        if not name:
            raise FatalModelError(f"{where} named no batch: {shorten(text, 200)}", cause="foreign")
        return name

    async def find(self, tag: str, *, rows: int, since: float, known: Collection[str]) -> str | None:
        """A batch of as many rows, made since then, that is none of the `known`, and ours as far as can be seen."""
        del tag
        after = ""
        for _ in range(_PAGES):
            query: dict[str, str | int] = {"limit": _PAGE, **({"after_id": after} if after else {})}
            page = await self._get(PATH, **query)
            batches = [as_object(entry) for entry in as_array(page.get("data"))]
            for batch in batches:
                name, counts = as_text(batch.get("id")), as_object(batch.get("request_counts"))
                if _seconds(batch.get("created_at")) < since - _SKEW_S:
                    return None
                if name not in known and sum(whole(count) or 0 for count in counts.values()) == rows:
                    return name
            after = as_text(page.get("last_id"))
            if not page.get("has_more") or not after:
                return None
        return None

    async def state(self, batch: str) -> BatchState:
        """Its status and counts, which the provider tells at the end only."""
        found = await self._get(f"{PATH}/{quote(batch, safe='')}")
        counts = {name: whole(count) or 0 for name, count in as_object(found.get("request_counts")).items()}
        total = sum(counts.values())
        ended = found.get("processing_status") == "ended"
        return BatchState(ended, total - counts.get("processing", 0), total)

    async def results(self, batch: str) -> AsyncIterator[tuple[str, RowResult]]:
        """Line by line."""
        path = f"{PATH}/{quote(batch, safe='')}/results"
        for row in rows_of(await self._backend.sending.get(path, where=self._at(path)), self._at(path)):
            if isinstance(row, TransientModelError):
                yield "", row
            else:
                yield as_text(row.get("custom_id")), self._result(as_object(row.get("result")), self._at(path))

    def _result(self, result: dict[str, JsonValue], where: str) -> RowResult:
        kind = result.get("type")
        if kind == "succeeded":
            try:
                return self._backend.read(json.dumps(result.get("message"), ensure_ascii=False), where)
            except ModelError as error:
                return error
        if kind != "errored":
            return TransientModelError(f"{where}: the row {'expired' if kind == 'expired' else 'was not answered'}")
        told = as_object(result.get("error"))
        error = as_object(told.get("error")) or told
        status = _STATUS.get(as_text(error.get("type")), 500)
        body = json.dumps({"error": error}, ensure_ascii=False)
        if is_filtered(status, body):
            return ChatReply("", "refusal", model=self._backend.model)
        return status_error(status, body, {}, where=where, secrets=self._backend.secrets)

    async def cancel(self, batch: str) -> None:
        """What was answered by then stands in its results."""
        path = f"{PATH}/{quote(batch, safe='')}/cancel"
        await self._backend.sending.post(path, {}, where=self._at(path))

    async def _get(self, path: str, **query: str | int) -> dict[str, JsonValue]:
        text = await self._backend.sending.get(path, where=self._at(path), query=query)
        return as_object(parse_body(text, self._at(path)))

    def _at(self, path: str) -> str:
        return f"{self._backend.endpoint}{path}"


def _seconds(value: JsonValue) -> float:
    """A time of the provider's in seconds since 1970; endless where it is unreadable, so that nothing is overlooked."""
    try:
        return datetime.fromisoformat(as_text(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("inf")
