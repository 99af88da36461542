"""The official SDKs as transport: a request, the body's text back, every failure in its class.

`openai` and `anthropic` share their machinery, so one class serves both. The SDK's typed objects are not used: the
text itself costs half the CPU time, and broken bodies are told apart. Redirects are not followed, because a key in a
header would go along; a proxy of the environment does not come between this process and its own machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from urllib.parse import urlsplit

from skillopt.core.errors import Cause, TransientModelError
from skillopt.core.json_types import JsonObject
from skillopt.core.redact import MARK, redact
from skillopt.core.shorten import shorten
from skillopt.model.providers.wire.endpoint import LEAST_REAL_KEY, is_loopback
from skillopt.model.providers.wire.reply import LONGEST_WORDS, is_filtered, status_error

if TYPE_CHECKING:
    from ssl import SSLContext

    from anthropic import AsyncAnthropic
    from anthropic import DefaultAsyncHttpxClient as AnthropicTransport
    from openai import AsyncOpenAI
    from openai import DefaultAsyncHttpxClient as OpenAITransport


class Filtered(Exception):
    """A filter of the provider's refused the prompt or its answer. The backend replies with a refusal."""


Client: TypeAlias = "AsyncOpenAI | AsyncAnthropic"


@dataclass(frozen=True)
class Sending:
    """What calls of one client have in common: `secrets` are kept out of messages, `timeout_s` stands in one."""

    client: Client
    secrets: Collection[str]
    timeout_s: float

    async def post(self, path: str, body: JsonObject, *, where: str, headers: Mapping[str, str] | None = None) -> str:
        """The text of a 200. Raises `FatalModelError`, `TransientModelError` or `ContextOverflow` naming `where`, or
        `Filtered`."""
        options: Any = {"headers": dict(headers or {})}
        with self._faults(where):
            return await self.client.post(path, cast_to=str, body=dict(body), options=options)

    async def get(self, path: str, *, where: str, query: Mapping[str, str | int] | None = None) -> str:
        """As `post`."""
        options: Any = {"params": dict(query or {})}
        with self._faults(where):
            return await self.client.get(path, cast_to=str, options=options)

    async def upload(self, path: str, name: str, data: bytes, fields: JsonObject, *, where: str) -> str:
        """Post a file as a form, with further fields. As `post`."""
        options: Any = {"headers": {"Content-Type": "multipart/form-data"}}
        with self._faults(where):
            return await self.client.post(
                path, cast_to=str, body=dict(fields), files=[("file", (name, data))], options=options
            )

    @contextlib.contextmanager
    def _faults(self, where: str) -> Generator[None]:
        """Every failure in its class."""
        module: Any = import_module(type(self.client).__module__.partition(".")[0])
        try:
            yield
        except module.APIStatusError as error:
            response: Any = error.response
            if is_filtered(response.status_code, response.text):
                raise Filtered from None
            raise status_error(
                response.status_code, response.text, response.headers, where=where, secrets=self.secrets
            ) from None
        except module.APIConnectionError as error:
            cause: BaseException | None = _lost_connection(error) or error.__cause__
            if isinstance(error, module.APITimeoutError) and _lost_connection(error) is None:
                raise TransientModelError(f"{where}: no answer within {self.timeout_s:g} s", cause="silent") from None
            words = shorten(str(cause), LONGEST_WORDS, self.secrets) if cause is not None else ""
            said = f"{where}: the connection failed: {words or type(cause or error).__name__}"
            refused: Cause = "certificate" if re.search(r"certificate|SSL|TLS", words) else "unreachable"
            raise TransientModelError(redact(said, self.secrets), unreachable=True, cause=refused) from None


def _lost_connection(error: BaseException) -> BaseException | None:
    """The lost or refused connection at the root of an error: the aiohttp transport reports some as timeouts, and words
    that hold its TLS settings."""
    found, cause = None, error.__cause__
    while cause is not None:
        ours = isinstance(cause, OSError) or type(cause).__module__.partition(".")[0] == "aiohttp"
        if ours and not isinstance(cause, (TimeoutError, asyncio.TimeoutError)):
            found = cause
        cause = cause.__cause__
    return found


def load(module: str) -> None:
    """Import an SDK now, seconds on a cold disk. Where it is not installed the first call says so, with the extra."""
    with contextlib.suppress(ImportError):
        import_module(module)


def without_key(text: str, key: str) -> str:
    """A reply that echoes the key would carry it into the journal and every view."""
    return text.replace(key, MARK) if len(key) >= LEAST_REAL_KEY else text


def openai_transport(timeout_s: float, base_url: str) -> OpenAITransport:
    """Connections for `openai` to one host: through aiohttp where it is installed, at two thirds of the CPU time."""
    from openai import DefaultAioHttpClient, DefaultAsyncHttpxClient

    if find_spec("aiohttp") is not None:
        with contextlib.suppress(RuntimeError):  # before 3.0 the SDK's transport for it is a package of its own
            return DefaultAioHttpClient(timeout=timeout_s, follow_redirects=False, **_route(base_url))
    return DefaultAsyncHttpxClient(timeout=timeout_s, follow_redirects=False, **_route(base_url))


def anthropic_transport(timeout_s: float, base_url: str) -> AnthropicTransport:
    """Connections for `anthropic` to one host, through aiohttp where it and the SDK's transport for it are there."""
    import anthropic

    fast = getattr(anthropic, "DefaultAioHttpClient", None) if find_spec("aiohttp") is not None else None
    transport = fast or anthropic.DefaultAsyncHttpxClient
    return transport(timeout=timeout_s, follow_redirects=False, **_route(base_url))


class _Route(TypedDict):
    trust_env: bool
    verify: SSLContext | bool


def _route(base_url: str) -> _Route:
    """Proxies and certificates: none of either for plain HTTP on this machine, where reading the certificates costs
    40 ms a client for nothing. The context without any would refuse every TLS server."""
    from ssl import PROTOCOL_TLS_CLIENT, SSLContext

    parts = urlsplit(base_url)
    here = is_loopback(parts.hostname or "")
    plain = here and parts.scheme == "http"
    return {"trust_env": not here, "verify": SSLContext(PROTOCOL_TLS_CLIENT) if plain else True}
