"""The connection to Ray, in the process that holds it: a cluster of one's own, or one at an address.

Token authentication is demanded: a cluster of one's own gets a random token, a foreign one is refused where it asks for
none. Faults of the set-up are one `ConfigError` each.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from skillopt.core.errors import ConfigError
from skillopt.core.shorten import shorten
from skillopt.executors.ray.library import ray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillopt.executors.ray.settings import RaySettings

_OBJECT_STORE_BYTES = 80_000_000
_SHOWN = 300
_ANSWER_S = 15.0
_STATUS_S = 60.0


def prepare_environment(settings: RaySettings) -> None:
    """Variables that Ray reads when it is imported. Raises `ConfigError` where a token is needed and there is none."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    os.environ.setdefault("RAY_raylet_start_wait_time_s", str(round(settings.start_seconds)))
    if not settings.address:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        os.environ.pop("RAY_ADDRESS", None)
        return
    if settings.insecure:
        return
    os.environ["RAY_AUTH_MODE"] = "token"
    if not (os.environ.get("RAY_AUTH_TOKEN") or os.path.exists(_token_file())):
        raise ConfigError(
            f"the cluster at {settings.address} has to ask for a token, and there is none here",
            hint="set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to its file (executor.ray_insecure goes without)",
        )


def connect(settings: RaySettings, cores: int) -> None:
    """Connect, or start a cluster. Raises `ConfigError` naming the address."""
    _refuse_silence(settings.address)
    if settings.address and not settings.insecure and serves_strangers(settings.address):
        raise no_token(settings.address)
    library = ray()
    logging.getLogger("ray").setLevel(logging.ERROR)
    common: dict[str, object] = {
        "namespace": settings.namespace,
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "runtime_env": dict(settings.runtime_env) or None,
    }
    if settings.address:
        common["address"] = settings.address
    else:
        common |= {
            "address": "local",
            "num_cpus": settings.slots or cores,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    try:
        library.init(**common)
    except (ConnectionError, RuntimeError, ValueError, OSError, library.exceptions.RayError) as error:
        words = shorten(" ".join(str(error).split()), _SHOWN)
        where = f"the Ray cluster at {settings.address}" if settings.address else "a Ray cluster on this machine"
        hint = (
            "is it up, is its version of Ray and Python the same, and is RAY_AUTH_TOKEN its token? (ray status)"
            if settings.address
            else "run the same command again, or use executor.kind=local"
        )
        raise ConfigError(f"{where} cannot be used: {words}", hint=hint) from error


def _refuse_silence(address: str) -> None:
    """A wrong address is told at once; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in address:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S).close()
    except OSError as error:
        raise ConfigError(
            f"the Ray cluster at {address} cannot be used: nobody answers there ({error})",
            hint="is it up? (ray status)",
        ) from error


def serves_strangers(address: str) -> bool:
    """Whether the cluster answers a caller without a token. Asked by a process of its own: Ray reads its mode once."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH_")}
    command = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    with contextlib.suppress(subprocess.TimeoutExpired):  # then connecting says what is wrong
        asked = subprocess.run(
            command, env={**env, "RAY_AUTH_MODE": "disabled"}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_STATUS_S, check=False,
        )  # fmt: skip
        return asked.returncode == 0
    return False


def no_token(address: str) -> ConfigError:
    """The refusal of a cluster that serves whoever reaches it."""
    return ConfigError(
        f"the cluster at {address} asks for no token: whoever reaches it runs programs there as you",
        hint="start its nodes with RAY_AUTH_MODE=token, or set executor.ray_insecure: true",
    )


def cores_of_cluster() -> float:
    """All there are now, on living nodes."""
    return float(ray().cluster_resources().get("CPU", 0.0))


def nodes() -> list[Mapping[str, object]]:
    """The living nodes as Ray lists them."""
    return [node for node in ray().nodes() if node.get("Alive")]


def leave() -> None:
    """Disconnect; a cluster of one's own ends."""
    ray().shutdown()


def _token_file() -> str:
    return os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token")
