"""Images of items: found, checked, and turned into what a chat request carries, once each.

An image is known by its content: two paths with the same bytes share one encoding, and a file that has changed is
encoded anew. Encodings are kept up to a bound, oldest out first.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from skillopt.core.errors import ItemFault
from skillopt.core.json_types import JsonObject

_KEPT_BYTES = 256 << 20
_KINDS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


class Images:
    """The images below some directories, the first that has a file wins. Below `given`, the directory that the user
    names, a file may also lie flat or in `images/`, whatever folders the item states."""

    def __init__(self, roots: Sequence[Path], *, given: str = "", detail: str = "auto") -> None:
        self._given = Path(given) if given else None
        self._roots = (*([self._given] if self._given else []), *roots)
        self._detail = detail
        self._known: dict[Path, tuple[tuple[int, int], str]] = {}
        self._encoded: OrderedDict[str, str] = OrderedDict()
        self._held = 0
        self.encoded = 0
        """How many images were encoded so far."""

    def find(self, name: str, where: str, hint: str = "") -> Path:
        """The file of a name that an item states. Raises `ItemFault`."""
        candidates = [root / name for root in self._roots]  # an absolute name stays itself
        if self._given is not None:
            candidates += [self._given / "images" / name, self._given / Path(name).name]
        for path in candidates:
            if path.is_file():
                return path
        raise ItemFault(f"{where}: the image {name!r} is not there", hint=hint or "looked below " + self._looked())

    def digest(self, name: str, where: str, hint: str = "") -> str:
        """SHA-256 of an image's bytes. Raises `ItemFault` for one that is missing, unreadable or no image."""
        path = self.find(name, where, hint)
        seen = self._seen(path)
        return seen if seen else self._read(path, where)[0]

    def part(self, name: str, where: str, expected: str = "") -> JsonObject:
        """The image as a content part of a message. Raises `ItemFault`, also for another image than the `expected` one
        (its digest)."""
        return {"type": "image_url", "image_url": {"url": self.uri(name, where, expected), "detail": self._detail}}

    def uri(self, name: str, where: str, expected: str = "") -> str:
        """The image as a data URI; encoded the first time that its content is asked for."""
        path = self.find(name, where)
        seen = self._seen(path)
        if seen not in self._encoded:
            seen, content = self._read(path, where)
            if seen not in self._encoded:
                self._keep(
                    seen, f"data:image/{_kind(content, path, where)};base64,{base64.b64encode(content).decode()}"
                )
        if expected and seen != expected:
            raise ItemFault(f"{where}: the image {path} has changed since the items were read")
        self._encoded.move_to_end(seen)
        return self._encoded[seen]

    def _keep(self, key: str, uri: str) -> None:
        self.encoded += 1
        self._encoded[key] = uri
        self._held += len(uri)
        while self._held > _KEPT_BYTES and len(self._encoded) > 1:
            _, dropped = self._encoded.popitem(last=False)
            self._held -= len(dropped)

    def _seen(self, path: Path) -> str:
        """The digest of a file that was read before and has not changed since; blank for any other."""
        known = self._known.get(path)
        return known[1] if known is not None and known[0] == _signature(path) else ""

    def _read(self, path: Path, where: str) -> tuple[str, bytes]:
        try:
            signature, content = _signature(path), path.read_bytes()
        except OSError as error:
            raise ItemFault(f"{where}: the image {path} cannot be read: {error.strerror}") from error
        _kind(content, path, where)
        key = hashlib.sha256(content).hexdigest()
        self._known[path] = (signature, key)
        return key, content

    def _looked(self) -> str:
        return ", ".join(str(root) for root in self._roots)


def _signature(path: Path) -> tuple[int, int]:
    """What tells a changed file from the one that was read."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size


def _kind(content: bytes, path: Path, where: str) -> str:
    """The format by its first bytes. Raises `ItemFault` for what no vision model takes."""
    for start, kind in _KINDS.items():
        if content.startswith(start):
            return kind
    raise ItemFault(f"{where}: {path} is no PNG, JPEG, GIF or WebP image", hint="convert it, or fetch it again")
