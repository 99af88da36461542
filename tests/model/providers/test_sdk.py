"""The transports read certificates where TLS may be spoken, and only there."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import certifi
import pytest
import truststore

from skillopt.model.providers.wire import sdk


@pytest.mark.parametrize("transport", [sdk.openai_transport, sdk.anthropic_transport])
@pytest.mark.parametrize(
    ("base_url", "reads"),
    [
        ("http://127.0.0.1:8000/v1", False),
        ("http://localhost/v1", False),
        ("https://localhost:8443/v1", True),
        ("http://models.example:8000/v1", True),  # a proxy of the environment may speak TLS
        ("https://api.openai.com/v1", True),
    ],
)
async def test_certificates(
    transport: Callable[[float, str], Any], base_url: str, reads: bool, monkeypatch: pytest.MonkeyPatch
):
    contexts: list[ssl.SSLContext] = []
    load = ssl.SSLContext.load_verify_locations

    def watched(self: ssl.SSLContext, *args: str, **kwargs: str) -> None:
        contexts.append(self)
        load(self, *args, **kwargs)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", watched)
    ask = truststore.SSLContext

    def asking(protocol: int) -> ssl.SSLContext:
        contexts.append(ask(protocol))  # it reads the system's at the first handshake
        return contexts[-1]

    monkeypatch.setattr(truststore, "SSLContext", asking)
    # A Python that was built apart may know no certificates of the system.
    known = ssl.get_default_verify_paths()._replace(openssl_cafile=certifi.where())
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: known)
    client = transport(5.0, base_url)
    await client.aclose()
    assert bool(contexts) is reads
    assert client.trust_env is not (base_url.startswith(("http://127", "http://localhost", "https://localhost")))
