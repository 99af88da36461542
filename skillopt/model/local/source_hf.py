"""The Hugging Face hub as a source of a model file: one HTTPS download that continues where it broke.

Machines without a way to the hub must not wait for it: connecting and the first answer have a few seconds in all. Once
bytes flow, a broken connection is taken up again with a Range request as long as every attempt brings something. A body
of another length than the catalogue's (a login page, another revision) is refused before it is written.
HF_ENDPOINT names a mirror, as in the hub's own tools; proxies and certificates come from the usual variables.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from typing import TYPE_CHECKING

from skillopt.model.local.catalogue import HubSource, ModelEntry
from skillopt.model.local.modelfile import disk_full
from skillopt.model.local.partial_download import Partial, Report, SourceUnavailable

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 4.0
"""For connecting and the first answer together."""
STALL_SECONDS = 30.0
"""For silence in the middle of a body."""
_FRUITLESS_ATTEMPTS = 3
_PAUSE_SECONDS = 0.5


def address(source: HubSource, entry: ModelEntry) -> str:
    """The URL of the entry's file."""
    base = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    return f"{base}/{source.repo}/resolve/{source.revision}/{entry.file}"


async def fetch(source: HubSource, partial: Partial, report: Report) -> None:
    """Complete `partial` from the hub. Raises `SourceUnavailable`; what arrived stays for the next source."""
    import httpx

    url, entry = address(source, partial.entry), partial.entry
    timeout = httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS)
    fruitless = 0
    async with httpx.AsyncClient(follow_redirects=True, timeout=timeout) as client:
        while partial.length() < entry.size:
            before, cause = partial.length(), ""
            try:
                await _attempt(client, url, partial, report)
            except (httpx.TransportError, asyncio.TimeoutError) as error:
                cause = _words(error)
            if partial.length() > before:
                fruitless = 0
                continue
            fruitless += 1
            # Nothing at all came at the first try: no way to the hub from here, so waiting would only cost time.
            if before == 0 or fruitless >= _FRUITLESS_ATTEMPTS:
                raise SourceUnavailable(f"no answer from {httpx.URL(url).host} ({cause or 'empty body'})")
            await asyncio.sleep(_PAUSE_SECONDS * fruitless)


async def _attempt(client: httpx.AsyncClient, url: str, partial: Partial, report: Report) -> None:
    start, entry = partial.length(), partial.entry
    # Identity: a compressed transfer would make byte positions meaningless.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    request = client.build_request("GET", url, headers=headers)
    response = await asyncio.wait_for(client.send(request, stream=True), CONNECT_SECONDS + 2.0)
    try:
        start = _check(response, start, entry)
        partial.cut(start)
        done = start
        with partial.path.open("ab") as stream:
            async for chunk in response.aiter_bytes():
                if done + len(chunk) > entry.size:
                    raise SourceUnavailable(f"{response.url.host} sent more than {entry.size:,} bytes")
                stream.write(chunk)
                done += len(chunk)
                report.progress("download", done, entry.size)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(partial.directory) from error
        raise
    finally:
        await response.aclose()


def _check(response: httpx.Response, start: int, entry: ModelEntry) -> int:
    """The position at which the body begins. Raises `SourceUnavailable` when it is not the wanted file."""
    host = response.url.host
    if response.status_code == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
        if match and int(match[1]) == start and int(match[2]) == entry.size:
            return start
        raise SourceUnavailable(f"{host} answered with another range than asked for")
    if response.status_code != 200:
        raise SourceUnavailable(f"{host} answered {response.status_code} {response.reason_phrase}".rstrip())
    length = response.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != entry.size:
        raise SourceUnavailable(f"{host} has a file of {int(length):,} bytes instead of {entry.size:,}")
    return 0


def _words(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__
