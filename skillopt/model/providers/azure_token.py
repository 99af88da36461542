"""Tokens for Azure, from the CLI's login or from the machine's identity, kept until shortly before they expire.

`azure_cli` runs `az account get-access-token`, which needs no extra package; `managed_identity` uses azure-identity
(extra `azure`). Both run off the event loop. What goes wrong is one line with the fix.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skillopt.core.aio import in_own_thread
from skillopt.core.errors import ConfigError, FatalModelError, TransientModelError
from skillopt.core.json_types import parse_json
from skillopt.core.shorten import shorten

MARGIN_S = 300.0
_AZ_SECONDS = 60.0
_LIFETIME_S = 3600.0
"""Assumed where an expiry cannot be read."""


@dataclass(frozen=True)
class Token:
    """A bearer token and when it ends, in seconds since 1970."""

    text: str
    expires_at: float

    def __repr__(self) -> str:
        return f"Token(expires_at={self.expires_at})"


class CachedToken:
    """Fetches when there is none or the kept one has less than `MARGIN_S` left; concurrent callers share one fetch."""

    def __init__(self, fetch: Callable[[], Awaitable[Token]]) -> None:
        self._fetch = fetch
        self._kept: Token | None = None
        self._turn: asyncio.Lock | None = None

    async def text(self) -> str:
        """A valid token. Raises `FatalModelError`, `TransientModelError` or `ConfigError`."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            if self._kept is None or self._kept.expires_at - time.time() < MARGIN_S:
                self._kept = await self._fetch()
            return self._kept.text


async def from_az(scope: str) -> Token:
    """The token of `az`'s login."""
    program = shutil.which("az")
    if program is None:
        raise FatalModelError(
            "azure_cli: the program az is not installed",
            hint="install the Azure CLI and run az login, or set azure_openai_api_key",
        )
    resource = scope.removesuffix("/.default")
    argv = [program, "account", "get-access-token", "--output", "json", "--resource", resource]
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), _AZ_SECONDS)
    except asyncio.TimeoutError:
        raise TransientModelError(f"azure_cli: az gave no token within {_AZ_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = shorten((err or out).decode("utf-8", "replace"), 600)
    if process.returncode != 0:
        raise FatalModelError(f"azure_cli: az exited with {process.returncode}: {said}", hint="run az login")
    try:
        raw: Any = parse_json(out)
        return Token(str(raw["accessToken"]), _expiry(raw))
    except (ValueError, KeyError, TypeError):
        raise FatalModelError("azure_cli: az printed no token", hint="run az login, then try again") from None


def _expiry(raw: dict[str, Any]) -> float:
    """Epoch seconds where `az` gives them; older versions print local time."""
    if "expires_on" in raw:
        return float(raw["expires_on"])
    try:
        return datetime.fromisoformat(str(raw["expiresOn"])).timestamp()
    except (KeyError, ValueError):
        return time.time() + _LIFETIME_S


async def from_managed_identity(scope: str, client_id: str) -> Token:
    """The token of this machine's identity, the user-assigned one when `client_id` is given."""
    try:
        from azure.core.exceptions import ClientAuthenticationError
        from azure.identity import CredentialUnavailableError, ManagedIdentityCredential
    except ImportError:
        raise ConfigError(
            "managed_identity needs the package azure-identity", hint="pip install 'skillopt[azure]'"
        ) from None

    def fetch() -> Token:
        with ManagedIdentityCredential(client_id=client_id or None) as credential:
            found = credential.get_token(scope)
            return Token(found.token, float(found.expires_on))

    try:
        return await in_own_thread(fetch)
    except (CredentialUnavailableError, ClientAuthenticationError) as error:
        raise FatalModelError(
            f"managed_identity: {shorten(str(error.message), 300)}",
            hint="give the machine an identity that may use the endpoint, or use another azure_openai_auth_mode",
        ) from None
