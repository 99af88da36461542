"""Azure OpenAI: the same questions at `<endpoint>/openai/deployments/<model>`, with a key or with a token.

A token is a credential of the surroundings (the CLI's login, the machine's identity): it goes to Azure's own hosts over
TLS only. A scope of the user's own names another receiver; such a token goes to the endpoint it was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from skillopt.core.errors import ConfigError
from skillopt.model.providers.azure_token import CachedToken, from_az, from_managed_identity
from skillopt.model.providers.openai_compatible import CompatibleBackend, CompatibleSettings, forget_account
from skillopt.model.providers.wire import sdk
from skillopt.model.providers.wire.dialect import Dialect
from skillopt.model.providers.wire.endpoint import check_address, own_host

if TYPE_CHECKING:
    from openai import AsyncOpenAI

API_VERSION = "2024-12-01-preview"
SCOPE = "https://cognitiveservices.azure.com/.default"
HOSTS = tuple(
    f".{name}.azure.{cloud}" for cloud in ("com", "us", "cn") for name in ("openai", "cognitiveservices", "services.ai")
)


@dataclass(frozen=True)
class AzureAccount:
    """How a role signs in: `mode` is api_key, azure_cli or managed_identity; blanks take Azure's own values."""

    mode: str = "api_key"
    api_version: str = ""
    scope: str = ""
    client_id: str = ""

    def token(self) -> CachedToken:
        """Where tokens come from; none is fetched yet."""
        scope = self.scope or SCOPE
        if self.mode == "azure_cli":
            return CachedToken(lambda: from_az(scope))
        if self.mode == "managed_identity":
            return CachedToken(lambda: from_managed_identity(scope, self.client_id))
        raise ConfigError(
            f"unknown Azure authentication mode {self.mode!r}",
            hint="one of api_key, azure_cli, managed_identity, openai_compatible",
        )


class AzureBackend(CompatibleBackend):
    """A deployment of an Azure resource; the model's name is the deployment's."""

    def __init__(self, settings: CompatibleSettings, account: AzureAccount, *, dialect: Dialect | None = None) -> None:
        super().__init__(settings, kind="azure_openai", dialect=dialect)
        self.account = account
        self._token: CachedToken | None = None
        if account.mode != "api_key":
            check_address(settings.base_url, key="a token", what="Azure endpoint", shape="give it without /openai")
            own_scope = account.scope not in ("", SCOPE)
            if not own_scope and not own_host(settings.base_url, HOSTS):
                host = urlsplit(settings.base_url).hostname
                raise ConfigError(
                    f"{account.mode}: the token is for Azure and is not sent to {host}",
                    hint="use an https endpoint of Azure, an API key, or azure_openai_ad_scope for your own gateway",
                )
            self._token = account.token()

    @property
    def endpoint(self) -> str:
        """One account per deployment: that is how Azure counts."""
        return f"{self._root}/openai/deployments/{quote(self.model, safe='')}"

    @property
    def _root(self) -> str:
        return self.settings.base_url.removesuffix("/openai")

    @property
    def _version(self) -> str:
        return self.account.api_version or API_VERSION

    def _where(self, path: str) -> str:
        base = self.endpoint if path == "/chat/completions" else f"{self._root}/openai"
        return f"{base}{path}?api-version={self._version}"

    def batches(self) -> None:
        """Azure answers batches by deployments of a kind of their own, which answer nothing else."""

    def _make_client(self) -> AsyncOpenAI:
        from openai import AsyncAzureOpenAI

        s = self.settings
        transport = sdk.openai_transport(s.timeout_s, s.base_url)
        if self._token is None:
            client = AsyncAzureOpenAI(
                azure_endpoint=self._root,
                api_version=self._version,
                api_key=s.api_key,
                max_retries=0,
                timeout=s.timeout_s,
                http_client=transport,
            )
        else:
            client = AsyncAzureOpenAI(
                azure_endpoint=self._root,
                api_version=self._version,
                azure_ad_token_provider=self._token.text,
                max_retries=0,
                timeout=s.timeout_s,
                http_client=transport,
            )
        forget_account(client)
        return client
