"""Both transports of the SDK tell the same faults in the same classes: a lost connection is no timeout."""

from __future__ import annotations

import asyncio
import socket

import pytest

from skillopt.core.errors import TransientModelError
from skillopt.model.providers.wire import sdk
from skillopt.testing.latency_server import Behaviour, LatencyServer
from tests.model.model_support import ask, compatible


@pytest.fixture(params=["aiohttp", "httpx"])
def transport(request, monkeypatch):
    if request.param == "httpx":
        monkeypatch.setattr(sdk, "find_spec", lambda name: None)
    return request.param


async def failing(url: str, **more) -> TransientModelError:
    backend = compatible(url, **more)
    try:
        with pytest.raises(TransientModelError) as caught:
            await backend.complete(ask())
        return caught.value
    finally:
        await backend.aclose()


async def test_the_transport_is_the_one_that_is_installed(transport):
    async with LatencyServer() as server:
        backend = compatible(server.url)
        reply = await backend.complete(ask())
        assert reply.text == "hello"
        assert backend._client is not None
        assert ("Aio" in type(backend._client._client).__name__) is (transport == "aiohttp")
        await backend.aclose()


async def test_nobody_listens(transport):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await failing(f"http://127.0.0.1:{port}/v1")
    assert error.unreachable and error.cause == "unreachable"
    assert "the connection failed" in error.message


async def test_a_server_that_hangs_up(transport):
    async def hang_up(reader, writer):
        await reader.readline()
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        error = await failing(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    assert error.unreachable and error.cause == "unreachable"


async def test_silence_is_a_timeout(transport):
    async with LatencyServer(Behaviour(median_s=30, sigma=0)) as server:
        error = await failing(server.url, timeout_s=0.3)
    assert not error.unreachable and error.cause == "silent"
    assert "no answer within 0.3 s" in error.message
