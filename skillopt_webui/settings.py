"""How one server was asked for. Frozen; made from the command line or by a test."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.core.errors import ConfigError

PORT = 7860
MAX_UPLOAD = 64 * 2**20


def _roots() -> tuple[Path, ...]:
    return (Path("outputs"),)


@dataclass(frozen=True)
class Settings:
    """`roots` hold run directories (the first one gets new runs), `configs` configuration files. Nothing outside of
    them is read or written, but for what a configuration names where one may be tried and started (not `read_only`). A
    blank `token` asks for none, which only an address of this machine may do."""

    roots: tuple[Path, ...] = field(default_factory=_roots)
    configs: tuple[Path, ...] = (Path("configs"),)
    projects: Path = Path("projects")
    """Where projects for one's own tasks are made."""
    data: tuple[Path, ...] = (Path("data"),)
    """Directories from which a data file may be named by its path."""
    host: str = "127.0.0.1"
    port: int = PORT
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()
    """Further names under which the server may be addressed."""
    read_only: bool = False
    nights: bool = False
    """Whether nights of the companion are shown, which are of all the user's projects."""
    at_once: int = 2
    """Runs at a time; further ones wait in a queue."""
    max_upload: int = MAX_UPLOAD
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Signs sessions and forms; of one server process."""

    def __post_init__(self) -> None:
        if not self.token and not is_local(self.host):
            raise ConfigError(
                f"the dashboard on {self.host} can start programs, so it needs an access token",
                hint="use --share, which makes one, or give --token",
            )

    @property
    def hosts(self) -> frozenset[str]:
        """Names in the Host header that are ours, without the port."""
        local = {"127.0.0.1", "localhost", "[::1]"}
        mine = set[str]() if self.host in ("0.0.0.0", "::", "") else {bracketed(self.host)}
        return frozenset(name.lower() for name in (*local, *mine, *self.allowed_hosts))


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
