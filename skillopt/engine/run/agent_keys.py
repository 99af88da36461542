"""How agent programs on a Ray cluster reach their models: through the driver's proxy, by a node's login, with the key.

Elsewhere programs are children of this machine and nothing is decided here. No key leaves this machine unless
`executor.credentials` is `send`; what cannot be done is refused in one line before anything is spent.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from skillopt.agents.settings import AgentSettings
from skillopt.config import ExecutorSection
from skillopt.core.errors import ConfigError
from skillopt.engine.run.spending.budget import Budget
from skillopt.harnesses.job import Endpoint
from skillopt.model.prices import PriceTable
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.store.journal import Journal

if TYPE_CHECKING:
    from skillopt.model.proxy.server import ModelProxy

_NO_LOGIN_TRAVELS = (
    "set model.exec_base_url and model.exec_api_key, or executor.credentials=node with a login on each node"
)
_VENDORS: Mapping[str, str] = {
    "codex": "https://api.openai.com/v1",
    "claude_code": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Where a program's own service is, for those that reach it by a key and an address."""


def on_a_cluster(section: ExecutorSection, agent: AgentSettings, environ: Mapping[str, str]) -> AgentSettings:
    """The agent's settings as its programs on a cluster need them. Raises `ConfigError` for what cannot be done."""
    if section.kind != "ray":
        return agent
    if section.credentials == "node":
        return _by_login(agent)
    if section.credentials == "send":
        return _sent(section, agent, environ)
    if not section.ray_address and upstream_of(agent) is None:
        return agent  # a cluster of one's own: the login in the home is there
    if upstream_of(agent) is None:
        raise ConfigError(
            f"{agent.backend} would sign in by a login of its own, which no proxy can do for it on "
            f"{section.ray_address}",
            hint=_NO_LOGIN_TRAVELS,
        )
    return agent


def upstream_of(agent: AgentSettings) -> Endpoint | None:
    """The model server behind an agent and its key; None where it signs in by a login."""
    if agent.endpoint is not None:
        return agent.endpoint
    vendor = _VENDORS.get(agent.cli.name)
    return Endpoint(vendor, agent.api_key) if vendor and agent.api_key else None


def uses_proxy(section: ExecutorSection, agent: AgentSettings) -> bool:
    """Whether the programs' calls go through this process."""
    return section.kind == "ray" and section.credentials == "proxy" and upstream_of(agent) is not None


def create_proxy(
    section: ExecutorSection,
    agent: AgentSettings,
    *,
    workers: int,
    journal: Journal,
    budget: Budget,
    pool: LimiterPool,
    prices: PriceTable,
) -> ModelProxy:
    """The proxy for an agent's programs, not listening yet. Whoever asks for it closes it."""
    if find_spec("aiohttp") is None:
        raise ConfigError(
            "the model proxy of executor.credentials=proxy needs aiohttp", hint="pip install 'skillopt[ray]'"
        )
    from skillopt.model.proxy.relay import Upstream
    from skillopt.model.proxy.server import ModelProxy

    server = upstream_of(agent)
    assert server is not None, "asked for where there is a server"
    account = server.base_url.rstrip("/")
    host, port = proxy_address(section)
    upstream = Upstream(
        root=server.root,
        key=server.key,
        model=agent.model or f"default of {agent.cli.name}",
        attempts=agent.attempts,
        price=lambda model: prices.find(model, backend=agent.backend),
    )
    return ModelProxy(
        upstream,
        host=host,
        port=port,
        journal=journal,
        limiter=pool.limiter(
            account, Limits(width=section.proxy_width or workers, ceiling=section.proxy_width or None)
        ),
        breaker=pool.breaker(account),
        purse=budget,
    )


def proxy_address(section: ExecutorSection) -> tuple[str, int]:
    """Host and port to listen on; port 0 is a free one. Raises `ConfigError` for what is no address."""
    given = section.proxy_address
    if not given:
        return (_seen_from(section.ray_address) if section.ray_address else "127.0.0.1"), 0
    host, colon, port = given.rpartition(":") if not given.endswith("]") else (given, "", "")
    if not colon or ("[" not in given and given.count(":") > 1):
        host, port = given, "0"
    host = host.strip("[]")
    if not port.isdigit() or int(port) > 65535 or not host or "/" in host or " " in host:
        raise ConfigError(
            f"executor.proxy_address={given!r} is not HOST or HOST:PORT", hint="for example 10.0.0.5:8900"
        )
    if host in ("0.0.0.0", "::"):
        raise ConfigError(
            f"executor.proxy_address={given!r}: nodes need an address that leads here",
            hint="name the address of this machine that they reach",
        )
    return host, int(port)


def _seen_from(address: str) -> str:
    """This machine's address on the way to the cluster's head. Nothing is sent."""
    host, _, port = address.rpartition(":")
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(host, int(port or 0), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as one:
            one.connect(target)
            return str(one.getsockname()[0])
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"no way leads from here to the cluster's head at {address}: {error}",
            hint="check executor.ray_address, or set executor.proxy_address",
        ) from None


def _by_login(agent: AgentSettings) -> AgentSettings:
    if agent.api_key or (agent.endpoint is not None and agent.endpoint.api_key):
        raise ConfigError(
            f"executor.credentials=node: {agent.backend} has a key here, which nodes would not get",
            hint="unset it (model.exec_api_key, or the program's own), or use executor.credentials=proxy",
        )
    if agent.endpoint is not None:
        return agent  # asks for no key: nodes reach it themselves
    if not agent.cli.login_files:
        raise ConfigError(
            f"executor.credentials=node: {agent.backend} has no login that a node could hold",
            hint="use executor.credentials=proxy and a key",
        )
    return replace(agent, login=None, node_login=True)


def _sent(section: ExecutorSection, agent: AgentSettings, environ: Mapping[str, str]) -> AgentSettings:
    if not section.ray_address:
        return agent  # it does not leave this machine
    if agent.login is not None:
        raise ConfigError(
            f"{agent.backend} would sign in by the login in {agent.login}, which is no key that could be sent",
            hint=_NO_LOGIN_TRAVELS,
        )
    key = agent.api_key or (agent.endpoint.api_key if agent.endpoint is not None else "")
    if key and environ.get("RAY_USE_TLS") != "1" and not section.ray_insecure:
        raise ConfigError(
            "executor.credentials=send would send a key in the clear: RAY_USE_TLS is not set",
            hint="set up TLS for the cluster (RAY_USE_TLS=1 here and on its nodes), or use executor.credentials=proxy",
        )
    if key and agent.endpoint is not None and agent.cli.name in ("opencode", "pi"):
        raise ConfigError(
            f"executor.credentials=send: {agent.backend} takes its key from a file, and keys are sent in no file",
            hint="use executor.credentials=proxy",
        )
    return agent
