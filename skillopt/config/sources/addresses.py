"""A server that was named says which backend is meant: nobody's items go to a paid provider by surprise.

Where no backend is named anywhere, the address of a server chooses the role's. Where a backend is named that does not
use an address which stands in the environment or on the command line, that is told. Two addresses without a backend are
a question that only the user can answer.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from urllib.parse import urlsplit

from skillopt.config.schema.model import ModelSection
from skillopt.config.sources.layers import Origin
from skillopt.core.errors import ConfigError

_STANDARD = "openai_chat"
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "openai_compatible": ("openai_compatible_base_url",),
    "qwen_chat": ("qwen_chat_base_url",),
    "minimax_chat": ("minimax_base_url",),
    "claude_chat": ("anthropic_base_url",),
    "local": ("local_base_url",),
    _STANDARD: ("azure_openai_endpoint", "openai_base_url"),
}
"""The keys that name each backend's server; the role's own ones have its name in front."""
_BASE = "_base_/default.yaml"
_SAID_NOW = ("environment", "flag", "argument")


def derive_backend(role: str, values: MutableMapping[str, object], origins: MutableMapping[str, Origin]) -> list[str]:
    """Choose the backend of a role that names none by the server that was named; returns what the user should know.
    Raises `ConfigError` where two servers were named."""
    chooser = f"model.{role}_backend"
    named = {backend: key for backend in _ADDRESSES if (key := _named(role, backend, values))}
    others = {backend: key for backend, key in named.items() if backend != _STANDARD}
    if values[chooser] != _STANDARD or not others:
        return []
    if _is_stock(origins[chooser]) and _STANDARD not in named:
        if len(others) > 1:
            told = " and ".join(str(origins[key]) for key in others.values())
            raise ConfigError(
                f"{chooser} is not set, and {told} name different servers",
                hint=f"set {chooser} to one of {_list(others)}",
            )
        ((backend, key),) = others.items()
        values[chooser], origins[chooser] = backend, Origin("default", f"because of {key}")
        return [f"{chooser} is {backend}, because {origins[key]} names a server for it"]
    idle = [str(origins[key]) for key in others.values() if origins[key].kind in _SAID_NOW]
    if not idle or origins[chooser].kind in _SAID_NOW:
        return []
    return [
        f"{chooser} is {_STANDARD} ({origins[chooser]}), so {' and '.join(idle)} has no effect on the {role}: "
        f"its calls go to {_host(values)}; set {chooser} to one of {_list(others)} if the other server is meant"
    ]


def _is_stock(origin: Origin) -> bool:
    """True when nobody chose: the schema's default, or the shipped file that writes the defaults out."""
    return origin.kind == "default" or (origin.kind == "file" and _BASE in origin.where.replace("\\", "/"))


def _named(role: str, backend: str, values: Mapping[str, object]) -> str:
    """The key by which somebody named this backend's server, for the role or for both; blank when nobody did."""
    for name in _ADDRESSES[backend]:
        for field in (f"{role}_{name}", name):
            key = f"model.{field}"
            if values.get(key) and values[key] != ModelSection.model_fields[field].default:
                return key
    return ""


def _host(values: Mapping[str, object]) -> str:
    address = str(values.get("model.azure_openai_endpoint") or values.get("model.openai_base_url") or "api.openai.com")
    return urlsplit(address).hostname or address


def _list(names: Mapping[str, str]) -> str:
    return ", ".join(names)
