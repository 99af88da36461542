"""The environment an agent CLI gets: an allow-list, a home of its own, and nothing of the user's besides.

No variable of the caller reaches the program unless it is named here: not a key, not a setting of another agent. What a
program needs (its endpoint, its key) is added by its own module.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MARKER = "SKILLOPT_RUN_MARK"
"""Variable by which all processes of one run are found again, those that left its process group included."""

_ALLOWED = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "SYSTEMROOT", "SystemRoot", "COMSPEC", "PATHEXT", "WINDIR", "ProgramFiles", "ProgramData",
)  # fmt: skip


def clean_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The base environment for a program whose home is `home`. Temporary files go into the home too."""
    kept = {name: environ[name] for name in _ALLOWED if environ.get(name)}
    kept.setdefault("LANG", "C.UTF-8")
    return {
        **kept,
        "HOME": str(home),
        "USERPROFILE": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "TMPDIR": str(home / "tmp"),
        "TEMP": str(home / "tmp"),
        "TMP": str(home / "tmp"),
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CI": "1",
    }


def around(host: str, environ: Mapping[str, str]) -> dict[str, str]:
    """What makes programs reach `host` without the web proxy that the environment may name."""
    named = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    hosts = ",".join(filter(None, (named, host)))
    return {"NO_PROXY": hosts, "no_proxy": hosts}
