"""Any server with `/chat/completions`, through the official async SDK.

The SDK is the transport only: its own retries and redirects are off, replies are read here, and it is imported at the
first call, so that importing the model layer stays light. A key is sent only where it was configured for:
`OPENAI_API_KEY` from the environment goes to api.openai.com and nowhere else, and no key leaves the machine over plain
HTTP. Models that only the Responses API serves are asked there.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillopt.core.errors import ConfigError, FatalModelError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.model.providers.wire import responses, sdk
from skillopt.model.providers.wire.dialect import CAP_FIELDS, Dialect
from skillopt.model.providers.wire.encodable import encodable
from skillopt.model.providers.wire.endpoint import check_address, plain_key
from skillopt.model.providers.wire.reply import read_reply
from skillopt.model.types import BackendSettings, ChatReply, ChatRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from skillopt.model.batch.contract import BatchApi

OPENAI_HOST = "api.openai.com"
OPENAI_URL = f"https://{OPENAI_HOST}/v1"
DEFAULT_MODEL = "gpt-4o-mini"
_NO_KEY = "none"
"""What the SDK wants to hear when a server needs no key."""
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
    extra_body: JsonObject = field(default_factory=dict[str, JsonValue])

    def __post_init__(self) -> None:
        check_address(self.base_url, key=self.api_key)


def create(settings: BackendSettings) -> CompatibleBackend:
    """Backend from a role's settings: model, base_url, api_key, temperature, reasoning_effort, max_tokens,
    timeout_seconds, extra_body.

    Raises `ConfigError` for a bad URL, a key that would travel unprotected, or api.openai.com without a key.
    """
    return CompatibleBackend(compatible_settings(settings))


def compatible_settings(settings: BackendSettings, **fixed: Any) -> CompatibleSettings:
    """A role's settings as this wire takes them; `fixed` ones are the backend's own. Raises `ConfigError`."""
    base_url = str(settings.get("base_url") or OPENAI_URL).rstrip("/")
    key = plain_key(settings)
    parts = urlsplit(base_url)
    if parts.hostname == OPENAI_HOST and not key:
        key = os.environ.get("OPENAI_API_KEY", "") if parts.scheme == "https" else ""
        if not key:
            raise ConfigError(
                f"no API key for {base_url}",
                hint="set OPENAI_API_KEY, an Azure endpoint, the base URL of another server "
                "(OPENAI_COMPATIBLE_BASE_URL for openai_compatible), or another backend",
            )
    max_tokens: Any = settings.get("max_tokens", 8_000)
    values: dict[str, Any] = {
        "model": str(settings.get("model") or DEFAULT_MODEL),
        "base_url": base_url,
        "api_key": key,
        "temperature": settings.get("temperature"),
        "reasoning_effort": str(settings.get("reasoning_effort") or ""),
        "max_tokens": None if max_tokens is None else int(max_tokens),
        "timeout_s": float(settings.get("timeout_seconds") or 300.0),
        "extra_body": dict(settings.get("extra_body") or {}),
    }
    return CompatibleSettings(**{**values, **fixed})


class CompatibleBackend:
    """A `Backend`. `kind` names it in the journal key; an embedded server is the same wire under another name."""

    def __init__(
        self, settings: CompatibleSettings, *, kind: str = "openai_compatible", dialect: Dialect | None = None
    ) -> None:
        self.settings = settings
        self.kind = kind
        self.dialect = dialect or Dialect()
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

    def identity(self) -> JsonObject:
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
        """Send the request; resend it in another form when a refusal says which parameter the server does not take."""
        request = encodable(request)
        for _ in range(_MOST_FORMS):
            form = self.dialect
            body = self.body(request)
            key = f"{request.idempotency_key}-{form.cap_field[4]}{len(form.omitted)}{form.schema_form[-1]}{form.api[0]}"
            try:
                return await self._post(body, key if request.idempotency_key else "")
            except sdk.Filtered:
                return ChatReply("", "refusal", model=self.model)
            except FatalModelError as refusal:
                if self.dialect == form:
                    learned = form.after(refusal.message, sent=body) if self._is_about_form(refusal) else None
                    if learned is None:
                        raise
                    self.dialect = learned
                    _log.warning("%s at %s %s", self.model, self.endpoint, learned.difference(form))
        raise FatalModelError(f"{self.endpoint} accepts no form of the request", hint=f"cap names tried: {CAP_FIELDS}")

    def body(self, request: ChatRequest) -> JsonObject:
        """The JSON body of an encodable request, in the form that the server is known to take."""
        s = self.settings
        fixed = {"temperature": s.temperature, "reasoning_effort": s.reasoning_effort or None, **s.extra_body}
        return self.dialect.body(request, model=self.model, fixed=fixed, limit=s.max_tokens)

    def _is_about_form(self, refusal: FatalModelError) -> bool:
        # 404: what OpenAI says of a model that its other API serves.
        return any(f" answered {status}:" in refusal.message for status in (400, 404, 422))

    async def _post(self, body: JsonObject, idempotency_key: str) -> ChatReply:
        path = self.path
        where = self._where(path)
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        text = await self.sending.post(path, body, headers=headers, where=where)
        return self.read(text, where)

    def read(self, text: str, where: str) -> ChatReply:
        """The reply in a 200's body."""
        text = sdk.without_key(text, self.settings.api_key)
        return read_reply(text, where) if self.dialect.api == "chat" else responses.read_response(text, where)

    @property
    def path(self) -> str:
        """Where the model is asked, after the base URL."""
        return "/chat/completions" if self.dialect.api == "chat" else responses.PATH

    @property
    def sending(self) -> sdk.Sending:
        """The connection."""
        return sdk.Sending(self._connect(), self.secrets, self.settings.timeout_s)

    def batches(self) -> BatchApi | None:
        """The server's batch API, which it may or may not have."""
        from skillopt.model.providers.batches.openai_batches import OpenAIBatches

        return OpenAIBatches(self)

    def _where(self, path: str) -> str:
        """The address of a call, for messages."""
        return f"{self.settings.base_url}{path}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown."""
        return (self.settings.api_key,) if self.settings.api_key else ()

    def load_sdk(self) -> None:
        """Import what the first call needs."""
        sdk.load("openai.resources.chat.completions")

    def _connect(self) -> AsyncOpenAI:
        """The SDK's client, made at the first call because it belongs to the running loop."""
        if self._client is None:
            self._client = self._make_client()
        return self._client

    def _make_client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        s = self.settings
        host = urlsplit(s.base_url).hostname or ""
        client = AsyncOpenAI(
            base_url=s.base_url,
            api_key=s.api_key or _NO_KEY,
            max_retries=0,
            timeout=s.timeout_s,
            http_client=sdk.openai_transport(s.timeout_s, s.base_url),
        )
        if host != OPENAI_HOST:
            forget_account(client)
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()


def forget_account(client: AsyncOpenAI) -> None:
    """Drop what the SDK took from the environment: it identifies an account at OpenAI, not here."""
    client.organization = None
    client.project = None
    client.admin_api_key = None
