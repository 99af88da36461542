"""Any server with `/chat/completions`, through the official async SDK.

The SDK is the transport only: its own retries are off, replies are read here, and it is imported at the first call, so
that importing the model layer stays light. A key is sent only where it was configured for: `OPENAI_API_KEY` from the
environment goes to api.openai.com and nowhere else, and no key leaves the machine over plain HTTP.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillopt.core.errors import ConfigError, FatalModelError, TransientModelError
from skillopt.core.redact import MARK, redact
from skillopt.model.dialect import CAP_FIELDS, Dialect
from skillopt.model.types import ChatReply, ChatRequest
from skillopt.model.wire import read_reply, shortened, status_error

if TYPE_CHECKING:
    from openai import APIConnectionError, AsyncOpenAI

OPENAI_HOST = "api.openai.com"
OPENAI_URL = f"https://{OPENAI_HOST}/v1"
DEFAULT_MODEL = "gpt-4o-mini"
_NO_KEY = "none"
"""What the SDK wants to hear when a server needs no key."""
_LEAST_REAL_KEY = 16
"""Characters. Shorter keys are what local servers are given."""
_MOST_FORMS = 8
"""More different forms of one body than a dialect can have."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompatibleSettings:
    """One role's endpoint. `temperature` and `reasoning_effort` hold where a request sets none.

    `max_tokens` bounds the completion of every request; None leaves it to the request. `extra_body` holds vendor
    fields; they are sent as they are and are part of the journal key.
    """

    model: str
    base_url: str
    api_key: str = field(default="", repr=False)
    temperature: float | None = None
    reasoning_effort: str = ""
    max_tokens: int | None = 8_000
    timeout_s: float = 300.0
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"base URL {redact(self.base_url)!r} is not an http(s) address", hint="give it up to /v1")
        if parts.username or parts.password:
            raise ConfigError("the base URL holds credentials", hint="put the key into the api_key setting")
        if self.api_key and parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ConfigError(
                f"the API key would go to {parts.hostname} over plain HTTP",
                hint="use an https:// base URL, or leave the key blank",
            )


def is_loopback(host: str) -> bool:
    """True for this machine's own names and addresses."""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")


def create(settings: Mapping[str, Any]) -> CompatibleBackend:
    """Backend from a role's settings: model, base_url, api_key, temperature, reasoning_effort, max_tokens,
    timeout_seconds, extra_body.

    Raises `ConfigError` for a bad URL, a key that would travel unprotected, or api.openai.com without a key.
    """
    base_url = str(settings.get("base_url") or OPENAI_URL).rstrip("/")
    key: Any = settings.get("api_key") or ""
    key = str(key.get_secret_value() if hasattr(key, "get_secret_value") else key)
    parts = urlsplit(base_url)
    if parts.hostname == OPENAI_HOST and not key:
        key = os.environ.get("OPENAI_API_KEY", "") if parts.scheme == "https" else ""
        if not key:
            raise ConfigError(f"no API key for {base_url}", hint="set OPENAI_API_KEY, or base_url for another server")
    max_tokens: Any = settings.get("max_tokens", 8_000)
    return CompatibleBackend(
        CompatibleSettings(
            model=str(settings.get("model") or DEFAULT_MODEL),
            base_url=base_url,
            api_key=key,
            temperature=settings.get("temperature"),
            reasoning_effort=str(settings.get("reasoning_effort") or ""),
            max_tokens=None if max_tokens is None else int(max_tokens),
            timeout_s=float(settings.get("timeout_seconds") or 300.0),
            extra_body=dict(settings.get("extra_body") or {}),
        )
    )


class CompatibleBackend:
    """A `Backend`. `kind` names it in the journal key; an embedded server is the same wire under another name."""

    def __init__(self, settings: CompatibleSettings, *, kind: str = "openai_compatible") -> None:
        self.settings = settings
        self.kind = kind
        self.dialect = Dialect()
        self._client: AsyncOpenAI | None = None

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self.settings.model

    @property
    def endpoint(self) -> str:
        """Scheme, host, port and path."""
        return self.settings.base_url

    @property
    def completion_limit(self) -> int | None:
        """No request may ask for more completion tokens than this."""
        return self.settings.max_tokens

    def identity(self) -> Mapping[str, Any]:
        """Kind, model and what is sent with every request."""
        s = self.settings
        return {
            "kind": self.kind,
            "model": s.model,
            "temperature": s.temperature,
            "reasoning_effort": s.reasoning_effort,
            "max_tokens": s.max_tokens,
            "extra_body": dict(s.extra_body),
        }

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send the request; resend it in another form when a 400 says which parameter the server does not take."""
        s = self.settings
        fixed = {"temperature": s.temperature, "reasoning_effort": s.reasoning_effort or None, **s.extra_body}
        for _ in range(_MOST_FORMS):
            form = self.dialect
            body = form.body(request, model=self.model, fixed=fixed)
            cap = s.max_tokens
            if cap is not None and body[form.cap_field] > cap:
                body[form.cap_field] = cap
            key = f"{request.idempotency_key}-{form.cap_field[4]}{len(form.omitted)}{form.schema_form[-1]}"
            try:
                return await self._post(body, key if request.idempotency_key else "")
            except FatalModelError as refusal:
                if self.dialect == form:
                    learned = form.after(refusal.message, sent=body) if self._is_about_form(refusal) else None
                    if learned is None:
                        raise
                    self.dialect = learned
                    _log.warning("%s at %s %s", self.model, self.endpoint, learned.difference(form))
        raise FatalModelError(f"{self.endpoint} accepts no form of the request", hint=f"cap names tried: {CAP_FIELDS}")

    def _is_about_form(self, refusal: FatalModelError) -> bool:
        return " answered 400:" in refusal.message or " answered 422:" in refusal.message

    async def _post(self, body: dict[str, Any], idempotency_key: str) -> ChatReply:
        client = self._connect()
        from openai import APIConnectionError, APIStatusError

        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        where = f"{self.endpoint}/chat/completions"
        try:
            # The text itself, not the SDK's typed object: half the CPU time, and broken bodies are told apart.
            text = await client.post("/chat/completions", cast_to=str, body=body, options={"headers": headers})
        except APIStatusError as error:
            response = error.response
            raise status_error(
                response.status_code, response.text, response.headers, where=where, secrets=self._secrets()
            ) from None
        except APIConnectionError as error:
            raise TransientModelError(redact(f"{where}: {self._cause(error)}", self._secrets())) from None
        return read_reply(self._without_key(text), where)

    def _without_key(self, text: str) -> str:
        """A reply that echoes the key would carry it into the journal and every view. Short keys are dummies
        (`ollama`, `EMPTY`), and words of a reply may be equal to one."""
        key = self.settings.api_key
        return text.replace(key, MARK) if len(key) >= _LEAST_REAL_KEY else text

    def _cause(self, error: APIConnectionError) -> str:
        from openai import APITimeoutError

        if isinstance(error, APITimeoutError):
            return f"no answer within {self.settings.timeout_s:g} s"
        cause = error.__cause__
        words = shortened(str(cause)) if cause is not None else ""
        return f"the connection failed: {words or type(cause or error).__name__}"

    def _secrets(self) -> tuple[str, ...]:
        return (self.settings.api_key,) if self.settings.api_key else ()

    def _connect(self) -> AsyncOpenAI:
        """The SDK's client, made at the first call because it belongs to the running loop."""
        if self._client is None:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            s = self.settings
            host = urlsplit(s.base_url).hostname or ""
            # A proxy of the environment has no business between this process and its own machine.
            transport = DefaultAsyncHttpxClient(timeout=s.timeout_s, trust_env=not is_loopback(host))
            self._client = AsyncOpenAI(
                base_url=s.base_url,
                api_key=s.api_key or _NO_KEY,
                max_retries=0,
                timeout=s.timeout_s,
                http_client=transport,
            )
            if host != OPENAI_HOST:
                # The SDK takes these from the environment; they identify an account at OpenAI, not here.
                self._client.organization = None
                self._client.project = None
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()
