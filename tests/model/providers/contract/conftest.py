"""`place` gives a strict server and a backend that speaks to it, for each case."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from skillopt.model.providers.wire import responses
from skillopt.model.types import Backend

from .cases import CASES, Case
from .server import MODEL, ProviderServer, Script


@dataclass
class OutputDirectory:
    """A server and the backend under test."""

    case: Case
    server: ProviderServer
    backend: Backend


Make = Callable[..., Any]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    chosen: Case = request.param
    if chosen.name == "responses":
        monkeypatch.setattr(responses, "_FAMILIES", (MODEL,))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "ambient-credential-of-something-else")
    return chosen


@pytest.fixture
async def place(case: Case) -> AsyncIterator[Make]:
    """`await place(script, refuse=…, **settings)`; what it made is closed at the end."""
    async with AsyncExitStack() as stack:

        async def make(
            script: Script | None = None, *, refuse: frozenset[str] = frozenset(), **settings: Any
        ) -> OutputDirectory:
            server = await stack.enter_async_context(ProviderServer(case.protocol(refuse), script))
            backend = case.backend(server.root, **settings)
            stack.push_async_callback(backend.aclose)
            return OutputDirectory(case, server, backend)

        yield make
