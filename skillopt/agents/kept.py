"""What is kept of the places that agent programs ran in, without secrets.

A text loses what the run knows and what looks like a secret; other files the keys that the run knows. What a scorer
reads (`cleaned_file`) is data as a reply is: it loses only what nobody could mean by anything but a key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from skillopt.core.redact import MARK, redact, redact_reply
from skillopt.model.providers.wire.endpoint import LEAST_REAL_KEY


def keep_place(place: Path, target: Path, secrets: Collection[str]) -> None:
    """Copy workspace and streams, every text redacted; links are not followed, a home is not kept."""
    for name in ("work", "streams"):
        for source in sorted((place / name).rglob("*")):
            if source.is_symlink() or not source.is_file():
                continue
            path = target / name / source.relative_to(place / name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_cleaned(secrets, source.read_bytes(), redact))


def kept_link(keep: Path, name: str) -> str:
    """Where a kept workspace lies, from the run directory: `logs/agents/NAME`."""
    return f"{keep.parent.name}/{keep.name}/{name}"


def cleaned_file(secrets: Collection[str], content: bytes) -> bytes:
    """A file without the secrets that this run knows; a text also without what can only be one."""
    return _cleaned(secrets, content, redact_reply)


def _cleaned(secrets: Collection[str], content: bytes, cleaning: Callable[[str, Collection[str]], str]) -> bytes:
    try:
        return cleaning(content.decode("utf-8"), secrets).encode("utf-8")
    except UnicodeDecodeError:
        pass
    for secret in secrets:
        if len(secret) >= LEAST_REAL_KEY:
            content = content.replace(secret.encode(), MARK.encode())
    return content
