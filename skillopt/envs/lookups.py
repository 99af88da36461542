"""Pages that an environment wants fetched between two turns of a chat: stored with the run, so that a resume and a
replay see what the first run saw.

A page is text: markup dropped, cut to a length. What cannot be fetched becomes a sentence that says so, which the
target reads as well. Only public addresses are asked: a data file must not reach into the network of whoever runs it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Mapping, Sequence
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

from skillopt.agents.base import Turn
from skillopt.core.aio import gather_all
from skillopt.core.hashing import digest
from skillopt.core.item import Item
from skillopt.core.shorten import shorten

if TYPE_CHECKING:
    from skillopt.store.journal import Journal

SECONDS = 20.0
CHARACTERS = 6_000
_MOST_BYTES = 2_000_000
_HOPS = 5
_SKIPPED = {"script", "style", "noscript", "template", "svg", "head"}


@runtime_checkable
class LooksUp(Protocol):
    """Optional part of an environment."""

    def pages_wanted(self, item: Item, turns: Sequence[Turn]) -> Sequence[str]:
        """Addresses to fetch before the next turn; empty where `next_turn` decides."""
        ...

    def with_pages(self, item: Item, turns: Sequence[Turn], pages: Mapping[str, str]) -> str:
        """The next user message, with the fetched texts by address."""
        ...


class AsksNext(Protocol):
    """What of an environment is asked here."""

    def next_turn(self, item: Item, turns: Sequence[Turn]) -> str | None: ...


def next_turn(
    env: AsksNext, item: Item, turns: Sequence[Turn], journal: Journal | None, stage: str
) -> str | Awaitable[str] | None:
    """The next user message, at once or after pages were fetched."""
    wanted = env.pages_wanted(item, turns) if isinstance(env, LooksUp) else ()
    if not wanted:
        return env.next_turn(item, turns)
    return _looked_up(cast("LooksUp", env), item, turns, wanted, journal, stage)


async def _looked_up(
    env: LooksUp, item: Item, turns: Sequence[Turn], wanted: Sequence[str], journal: Journal | None, stage: str
) -> str:
    texts = await gather_all([_stored(url, journal, stage) for url in wanted])
    return env.with_pages(item, turns, dict(zip(wanted, texts, strict=True)))


async def _stored(url: str, journal: Journal | None, stage: str) -> str:
    if journal is None:
        return await page(url)

    from skillopt.store.journal import Recorded  # a misspelt key is told without a database

    async def thunk() -> Recorded:
        return Recorded(value=await page(url), kind="page", stage=stage, role="target", calls=0, prompt_tokens=0,
                        completion_tokens=0, cached_tokens=0, reasoning_tokens=0, usd=0.0)  # fmt: skip

    key = digest({"kind": "page", "v": 1, "url": url})
    return str((await journal.once(key, thunk, label="a page")).value)


async def page(url: str) -> str:
    """The text of a page, or a sentence that says why there is none."""
    import httpx

    try:
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            return await asyncio.wait_for(_read(client, url), SECONDS)
    except asyncio.TimeoutError:
        return f"(not fetched: no answer within {SECONDS:g} s)"
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        return f"(not fetched: {shorten(' '.join(str(error).split()) or type(error).__name__, 200)})"


async def _read(client: object, url: str) -> str:
    import httpx

    assert isinstance(client, httpx.AsyncClient)
    for _ in range(_HOPS):
        await asyncio.to_thread(refuse_private, url)
        async with client.stream("GET", url) as response:
            if response.is_redirect:  # followed by hand: each address is looked at
                url = str(response.url.join(response.headers.get("location", "")))
                continue
            response.raise_for_status()
            kind = response.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
            if not kind.startswith("text/") and kind != "application/xhtml+xml":
                raise ValueError(f"is {kind}, not text")
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) >= _MOST_BYTES:
                    break
            text = body.decode(response.encoding or "utf-8", "replace")
        return (text_of(text) if "html" in kind else " ".join(text.split()))[:CHARACTERS]
    raise ValueError(f"more than {_HOPS} redirects")


def refuse_private(url: str) -> None:
    """Raise `ValueError` for an address that is not a public one of the web."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is no web address")
    found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    if not all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_global for entry in found):
        raise ValueError("is not a public address")


def text_of(markup: str) -> str:
    """The visible text of a page, squeezed.

    >>> text_of("<head><title>t</title></head><p>one<br>two</p><script>x()</script>")
    'one two'
    """
    reader = _Text()
    reader.feed(markup)
    reader.close()
    return " ".join(" ".join(reader.parts).split())


class _Text(HTMLParser):
    """Collects text outside of what is not shown."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _SKIPPED

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _SKIPPED and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
