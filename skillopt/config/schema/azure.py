"""Keys of section `model` for openai_chat: OpenAI itself, Azure, and endpoints that only look like them.

An Azure endpoint (or an authentication mode) makes openai_chat speak to Azure; without one it is plain OpenAI.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import SecretStr

from skillopt.config.keys import Key, Section
from skillopt.config.schema.model_types import EMPTY

AuthMode = Literal["", "api_key", "azure_cli", "managed_identity", "openai_compatible"]
AUTH_MODES = {
    "key": "api_key",
    "aad": "managed_identity",
    "azure_ad": "managed_identity",
    "compat": "openai_compatible",
    "openai": "openai_compatible",
}


class AzureFields(Section):
    """openai_chat."""

    openai_base_url: Annotated[str, Key(env=("OPENAI_BASE_URL",), change="any")] = "https://api.openai.com/v1"
    """Endpoint of openai_chat, and of openai_compatible while no endpoint of its own is given."""
    openai_api_key: Annotated[SecretStr, Key(env=("OPENAI_API_KEY",), change="none")] = EMPTY
    """Key for `openai_base_url`; never sent to another endpoint."""

    azure_openai_endpoint: Annotated[
        str, Key(also=("azure_endpoint",), env=("AZURE_OPENAI_ENDPOINT",), change="any")
    ] = ""
    """Azure endpoint, `https://<resource>.openai.azure.com`; blank for plain OpenAI."""
    azure_openai_api_version: Annotated[
        str, Key(also=("azure_api_version",), env=("AZURE_OPENAI_API_VERSION",), change="any")
    ] = "2024-12-01-preview"
    """API version sent to Azure."""
    azure_openai_api_key: Annotated[
        SecretStr, Key(also=("azure_api_key",), env=("AZURE_OPENAI_API_KEY",), change="none")
    ] = EMPTY
    """Key of the Azure endpoint; blank where a token is used."""
    azure_openai_auth_mode: Annotated[
        AuthMode, Key(env=("AZURE_OPENAI_AUTH_MODE",), change="any", values=AUTH_MODES)
    ] = ""
    """How openai_chat signs in to Azure; blank is api_key when there is a key, else azure_cli."""
    azure_openai_ad_scope: Annotated[str, Key(env=("AZURE_OPENAI_AD_SCOPE",), change="any")] = (
        "https://cognitiveservices.azure.com/.default"
    )
    """Scope that tokens are asked for."""
    azure_openai_managed_identity_client_id: Annotated[
        str, Key(env=("AZURE_OPENAI_MANAGED_IDENTITY_CLIENT_ID",), change="any")
    ] = ""
    """Client id of a user-assigned managed identity; blank for the system-assigned one."""
