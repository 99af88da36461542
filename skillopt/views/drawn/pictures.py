"""Images of items inside of a page that stands alone: as data URIs, up to a bound for the page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

from skillopt.records.items import image_file

MOST_BYTES, MOST_ONE = 8 << 20, 1 << 20
"""Of all images of a page, and of one."""


class Pictures:
    """The images of one page; those beyond the bound are left out."""

    def __init__(self, root: Path) -> None:
        self._root, self._left = root, MOST_BYTES

    def of(self, names: Sequence[str]) -> list[str]:
        """Data URIs of an item's images. Blocking."""
        return [uri for uri in map(self._uri, names) if uri]

    def _uri(self, name: str) -> str:
        found = image_file(self._root, name)
        if found is None:
            return ""
        path, kind = found
        try:
            size = path.stat().st_size
            if size > min(MOST_ONE, self._left):
                return ""
            content = path.read_bytes()
        except OSError:  # gone since it was found: a picture less
            return ""
        self._left -= size
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"
