"""Anthropic's Messages API through the official SDK (extra `claude`), paid by a key.

The SDK is the transport only, imported at the first call. The key goes to the endpoint it was configured for; nothing
else that the SDK would take from the environment (tokens, profiles, headers) is used.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillopt.core.errors import ConfigError, FatalModelError
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.model.providers.wire import sdk
from skillopt.model.providers.wire.encodable import encodable
from skillopt.model.providers.wire.endpoint import check_address, plain_key
from skillopt.model.providers.wire.messages import PATH, Form, read_message
from skillopt.model.types import BackendSettings, ChatReply, ChatRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from skillopt.model.batch.contract import BatchApi

HOST = "api.anthropic.com"
URL = f"https://{HOST}"
MODEL = "claude-sonnet-4-6"
_MOST_FORMS = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AnthropicSettings:
    """One role's account. `reasoning_effort` holds where a request sets none."""

    model: str
    api_key: str = field(repr=False)
    base_url: str = URL
    reasoning_effort: str = ""
    max_tokens: int | None = None
    timeout_s: float = 300.0

    def __post_init__(self) -> None:
        check_address(self.base_url, key=self.api_key, shape="give it without /v1")


def create(settings: BackendSettings) -> AnthropicBackend:
    """Backend from a role's settings: model, base_url, api_key, reasoning_effort, max_tokens,
    timeout_seconds. Raises `ConfigError` without a key or without the SDK."""
    base_url = str(settings.get("base_url") or URL).rstrip("/").removesuffix("/v1")
    key = plain_key(settings)
    if not key:
        raise ConfigError(
            f"no API key for {base_url}",
            hint="set ANTHROPIC_API_KEY, or claude_chat_route: cli for a login",
        )
    require_sdk()
    max_tokens: Any = settings.get("max_tokens")
    return AnthropicBackend(
        AnthropicSettings(
            model=str(settings.get("model") or MODEL),
            api_key=key,
            base_url=base_url,
            reasoning_effort=str(settings.get("reasoning_effort") or ""),
            max_tokens=None if max_tokens is None else int(max_tokens),
            timeout_s=float(settings.get("timeout_seconds") or 300.0),
        )
    )


def require_sdk() -> None:
    """Raises `ConfigError` where the extra is not installed."""
    from importlib.util import find_spec

    if find_spec("anthropic") is None:
        raise ConfigError("claude_chat_route: api needs the package anthropic", hint="pip install 'skillopt[claude]'")


class AnthropicBackend:
    """A `Backend`. `form` holds what the model has refused so far."""

    def __init__(self, settings: AnthropicSettings) -> None:
        self.settings = settings
        self.form = Form()
        self._told = False
        self._client: AsyncAnthropic | None = None

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

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown."""
        return (self.settings.api_key,)

    def identity(self) -> JsonObject:
        """Kind, model and what is sent with every request."""
        s = self.settings
        return {
            "kind": "anthropic_api",
            "model": s.model,
            "reasoning_effort": s.reasoning_effort,
            "max_tokens": s.max_tokens,
        }

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send the request; resend it in another form when a 400 says which parameter the model does not take."""
        request = encodable(request)
        if not self._told and (request.temperature is not None or request.top_p is not None):
            self._told = True
            _log.warning("%s: the Messages API takes no temperature and no top_p; they have no effect", self.model)
        for _ in range(_MOST_FORMS):
            form = self.form
            body = self.body(request)
            try:
                return await self._post(body)
            except sdk.Filtered:
                return ChatReply("", "refusal", model=self.model)
            except FatalModelError as refusal:
                if self.form == form:
                    learned = form.after(refusal.message, sent=body) if " answered 400:" in refusal.message else None
                    if learned is None:
                        raise
                    self.form = learned
                    refused = ", ".join(sorted(learned.omitted - form.omitted))
                    _log.warning("%s at %s refuses %s; it is left out", self.model, self.endpoint, refused)
        raise FatalModelError(f"{self.endpoint} accepts no form of the request", cause="request")

    def body(self, request: ChatRequest) -> dict[str, JsonValue]:
        """The JSON body of an encodable request, in the form that the model is known to take."""
        s = self.settings
        body = self.form.body(request, model=self.model, effort=s.reasoning_effort)
        if s.max_tokens is not None:
            body["max_tokens"] = min(s.max_tokens, request.max_completion_tokens)
        return body

    async def _post(self, body: dict[str, JsonValue]) -> ChatReply:
        where = f"{self.endpoint}{PATH}"
        return self.read(await self.sending.post(PATH, body, where=where), where)

    def read(self, text: str, where: str) -> ChatReply:
        """The reply in a 200's body."""
        return read_message(sdk.without_key(text, self.settings.api_key), where)

    @property
    def sending(self) -> sdk.Sending:
        """The connection."""
        return sdk.Sending(self._connect(), self.secrets, self.settings.timeout_s)

    def batches(self) -> BatchApi:
        """Message Batches."""
        from skillopt.model.providers.batches.anthropic_batches import AnthropicBatches

        return AnthropicBatches(self)

    def load_sdk(self) -> None:
        """Import what the first call needs."""
        sdk.load("anthropic")

    def _connect(self) -> AsyncAnthropic:
        """The SDK's client, made at the first call because it belongs to the running loop."""
        if self._client is None:
            from anthropic import AsyncAnthropic

            s = self.settings
            self._client = AsyncAnthropic(
                api_key=s.api_key,
                base_url=s.base_url,
                max_retries=0,
                timeout=s.timeout_s,
                http_client=sdk.anthropic_transport(s.timeout_s, s.base_url),
            )
            # Headers of the environment may carry credentials of something else.
            self._client._custom_headers = {}  # pyright: ignore[reportPrivateUsage]
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()
