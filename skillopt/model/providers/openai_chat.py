"""openai_chat: OpenAI itself, Azure, or an endpoint that only looks like OpenAI; the authentication mode decides.

A blank mode, or `openai_compatible`, is the plain client at `base_url`; `api_key`, `azure_cli` and `managed_identity`
speak to an Azure endpoint. Models that Chat Completions does not serve are asked through the Responses API.
"""

from __future__ import annotations

from skillopt.core.errors import ConfigError
from skillopt.model.providers.azure import AzureAccount, AzureBackend
from skillopt.model.providers.openai_compatible import CompatibleBackend, compatible_settings
from skillopt.model.providers.wire.dialect import Dialect
from skillopt.model.providers.wire.endpoint import plain_key
from skillopt.model.providers.wire.responses import needs_responses
from skillopt.model.types import BackendSettings

DEFAULT_MODEL = "gpt-5.5"
_V1 = "/openai/v1"
"""The path of Azure's newer API, which has neither versions nor deployment paths."""


def create(settings: BackendSettings) -> CompatibleBackend:
    """Backend from a role's settings: model, base_url, api_key, auth_mode, api_version, ad_scope,
    managed_identity_client_id, reasoning_effort. Raises `ConfigError` with the fix."""
    model = str(settings.get("model") or DEFAULT_MODEL)
    dialect = Dialect(api="responses" if needs_responses(model) else "chat")
    mode = str(settings.get("auth_mode") or "")
    address = str(settings.get("base_url") or "").rstrip("/")
    if mode in ("", "openai_compatible") or (mode == "api_key" and address.endswith(_V1)):
        return CompatibleBackend(compatible_settings(settings, model=model), kind="openai_chat", dialect=dialect)
    if not address:
        raise ConfigError(
            f"Azure authentication ({mode}) needs an endpoint",
            hint="set azure_openai_endpoint or AZURE_OPENAI_ENDPOINT",
        )
    account = AzureAccount(
        mode=mode,
        api_version=str(settings.get("api_version") or ""),
        scope=str(settings.get("ad_scope") or ""),
        client_id=str(settings.get("managed_identity_client_id") or ""),
    )
    if mode == "api_key" and not plain_key(settings):
        raise ConfigError(
            f"no Azure API key for {address}",
            hint="set AZURE_OPENAI_API_KEY, or azure_openai_auth_mode to azure_cli or managed_identity",
        )
    return AzureBackend(compatible_settings(settings, model=model, base_url=address), account, dialect=dialect)
