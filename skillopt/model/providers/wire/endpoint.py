"""Where a key may go: an address is checked before anything is sent to it.

No key leaves the machine over plain HTTP, none hides in a URL. A credential of the environment belongs to its
provider's own hosts (`own_host`), over TLS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from skillopt.core.errors import ConfigError
from skillopt.core.redact import redact

LEAST_REAL_KEY = 16
"""Characters. Shorter keys are what local servers are given (`ollama`, `EMPTY`), and may be words of a reply."""


def is_loopback(host: str) -> bool:
    """True for this machine's own names and addresses."""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")


def check_address(base_url: str, *, key: str, what: str = "base URL", shape: str = "give it up to /v1") -> SplitResult:
    """The parts of an address that `key` may be sent to. Raises `ConfigError`."""
    try:
        parts = urlsplit(base_url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{what} {redact(base_url)!r} is not an http(s) address", hint=shape)
    if parts.username or parts.password:
        raise ConfigError(f"the {what} holds credentials", hint="put the key into the api_key setting")
    if key and parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigError(
            f"the API key would go to {parts.hostname} over plain HTTP",
            hint=f"use an https:// {what}, or leave the key blank",
        )
    return parts


def own_host(base_url: str, hosts: Iterable[str]) -> bool:
    """True when the address is one of a provider's hosts, over TLS. `.x.y` stands for every host under `x.y`."""
    parts = urlsplit(base_url)
    name = parts.hostname or ""
    return parts.scheme == "https" and any(name.endswith(h) if h.startswith(".") else name == h for h in hosts)


def secret_text(value: Any) -> str:
    """A key from the settings, whether plain or secret-typed."""
    return str(value.get_secret_value() if hasattr(value, "get_secret_value") else value or "")


def plain_key(settings: Mapping[str, Any]) -> str:
    """The role's key in a backend's settings; blank when none was given."""
    return secret_text(settings.get("api_key"))
