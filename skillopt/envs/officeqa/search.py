"""The episode of the mode *custom_search*: the target writes queries, a search service answers, round by round.

A reply holds `<search_queries>["…"]</search_queries>` (JSON, a list or lines; at most 4 a round, none twice) or the
answer. Each query is one POST; 408, 429 and 5xx are tried again three times, after 1, 2 and 4 s. A service that cannot
be asked is a fault of the simulator: the item is missing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillopt.core.json_types import JsonValue, as_array, as_object, as_text, parse_json
from skillopt.core.shorten import shorten
from skillopt.envs.episodes import Reset, Step
from skillopt.envs.scorers.extract import tagged

if TYPE_CHECKING:
    import httpx

MOST_QUERIES, ATTEMPTS = 4, 4
_AGAIN = (408, 429)
_QUERIES = re.compile(r"<(/?)search_queries>", re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_LONGEST = 1500
_LAST = "\n\nThis was the last round of searching: the next reply must hold the answer in answer tags."


class SearchFault(Exception):
    """The service could not be asked."""


@dataclass(frozen=True)
class Service:
    """Where queries go. `key_variable` names the environment variable with the authorization."""

    url: str
    key_variable: str = "OFFICEQA_SEARCH_API_KEY"
    provider: str = ""
    most_results: int = 5
    timeout_s: float = 30.0
    first_wait_s: float = 1.0


def queries_in(reply: str) -> list[str]:
    """The queries of a reply; empty without a pair of tags.

    >>> queries_in('<search_queries>["debt 1977", "debt 1977"]</search_queries>')
    ['debt 1977']
    """
    marks = list(_QUERIES.finditer(reply))
    opened = next((at for at in range(len(marks) - 1, -1, -1) if not marks[at][1]), None)
    if opened is None or opened + 1 >= len(marks):
        return []
    text = reply[marks[opened].end() : marks[opened + 1].start()].strip()
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    if isinstance(value, list):
        found = [as_text(entry).strip() for entry in as_array(value)]
    else:
        found = [_MARK.sub("", line).strip().strip("\"'") for line in text.strip("[]").splitlines()]
    return list(dict.fromkeys(query for query in found if query))[:MOST_QUERIES]


class SearchEpisode:
    """See the module."""

    def __init__(self, service: Service, *, rounds: int) -> None:
        self._service, self._rounds, self._done = service, rounds, 0
        self._client: httpx.AsyncClient | None = None

    async def reset(self, seed: int) -> Reset:
        """Nothing is known yet."""
        import httpx

        key = os.environ.get(self._service.key_variable, "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=self._service.timeout_s)
        return Reset("Nothing has been searched yet.", {"protocol": "custom_search"})

    async def step(self, action: str) -> Step:
        """One reply: queries, or the answer. Raises `SearchFault`."""
        self._done += 1
        if tagged(action) is not None:
            return Step("", done=True)
        queries = queries_in(action)
        if not queries:
            return Step("", done=True)
        if self._done >= self._rounds:
            return Step("No round of searching is left.", done=True)
        blocks = [f"## {query}\n\n{await self._found(query)}" for query in queries]
        return Step("\n\n".join(blocks) + (_LAST if self._done == self._rounds - 1 else ""))

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()

    async def _found(self, query: str) -> str:
        body: dict[str, JsonValue] = {"query": query, "max_num_results": self._service.most_results}
        if self._service.provider:
            body["provider"] = self._service.provider
        answer = await self._posted(body)
        try:
            value = parse_json(answer)
        except ValueError as error:
            raise SearchFault(f"{self._service.url}: the answer is not JSON: {shorten(answer, 120)}") from error
        results = as_array(value) or as_array(as_object(value).get("results"))
        return shown(results) or "(no result)"

    async def _posted(self, body: dict[str, JsonValue]) -> str:
        import httpx

        assert self._client is not None
        said = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(self._service.first_wait_s * 2 ** (attempt - 1))
            try:
                response = await self._client.post(self._service.url, json=body)
            except httpx.HTTPError as error:
                said = f"{type(error).__name__}: {error}".rstrip(": ")
                continue
            if response.status_code < 400:
                return response.text
            said = f"{response.status_code} {shorten(response.text, 200)}"
            if response.status_code < 500 and response.status_code not in _AGAIN:
                break
        raise SearchFault(f"the search service {self._service.url}: {said}")


def shown(results: Sequence[JsonValue]) -> str:
    """Results as text: title, address, what the service says of them."""
    blocks: list[str] = []
    for number, entry in enumerate(results, start=1):
        row = as_object(entry)
        head = " ".join(as_text(row.get(name)).strip() for name in ("title", "url") if as_text(row.get(name)).strip())
        names = ("content", "snippet", "text")
        body = next(
            (as_text(row.get(name)).strip() for name in names if as_text(row.get(name)).strip()), as_text(entry)
        )
        blocks.append(f"{number}. {head}\n{body[:_LONGEST]}".strip())
    return "\n\n".join(blocks)
