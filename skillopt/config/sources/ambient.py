"""Keys that lie in the environment for other programs go to their own provider, or nowhere.

`OPENAI_API_KEY` and `ANTHROPIC_API_KEY` are in many shells for reasons that have nothing to do with a run. An address
in a file or on the command line that is not the provider's own does not get them: a shared file could name any host.
An address that stands in the environment beside the key is the user's own pair and gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from skillopt.config.sources.layers import Origin

_PAIRS = (
    ("model.openai_api_key", "model.openai_base_url", "api.openai.com"),
    ("model.anthropic_api_key", "model.anthropic_base_url", "api.anthropic.com"),
)


def keep_home(values: dict[str, object], origins: Mapping[str, Origin]) -> list[str]:
    """Blank the keys that would leave home; one notice for each."""
    notices: list[str] = []
    for key, address, home in _PAIRS:
        if not values[key] or origins[key].kind != "environment" or origins[address].kind == "environment":
            continue
        if not _is_home(str(values[address]), home):
            values[key] = ""
            notices.append(
                f"{origins[key].where} is not sent to {address}, which is not {home}: "
                f"give the key for it as {key}, or the address in the environment too"
            )
    return notices


def _is_home(address: str, home: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" and parts.hostname == home
