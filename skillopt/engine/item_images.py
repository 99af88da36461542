"""The images of items, kept in the run directory for people to see: by content, each once, up to a bound.

Nothing of the run reads them, so what is too large or cannot be read is left out without a word.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from pathlib import Path

from skillopt.core.errors import ItemFault
from skillopt.core.item import Item
from skillopt.core.json_types import as_array, as_object
from skillopt.envs.base import Env
from skillopt.records.items import IMAGES

MOST_BYTES, MOST_ONE = 64 << 20, 4 << 20
"""Of all images of a run, and of one."""
_URI = re.compile(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/=]+)")


class ItemImages:
    """Writes below one run directory."""

    def __init__(self, root: Path, env: Env) -> None:
        self._place, self._env = root / IMAGES, env
        self._shows = hasattr(env, "image_names")
        self._left = MOST_BYTES

    def of(self, item: Item) -> tuple[str, ...]:
        """The names of the item's images, written. Blocking."""
        if not self._shows or self._left <= 0:
            return ()
        try:
            messages = self._env.messages(item, "")
        except ItemFault:
            return ()
        parts = [as_object(part) for m in messages for part in as_array(m.content)]
        uris = [str(as_object(part.get("image_url")).get("url", "")) for part in parts if "image_url" in part]
        return tuple(name for name in map(self._kept, uris) if name)

    def _kept(self, uri: str) -> str:
        found = _URI.fullmatch(uri)
        if found is None or len(uri) > MOST_ONE * 4 // 3:
            return ""
        try:
            content = base64.b64decode(found[2], validate=True)
        except binascii.Error:
            return ""
        name = f"{hashlib.sha256(content).hexdigest()}.{'jpg' if found[1] == 'jpeg' else found[1]}"
        path = self._place / name
        if path.is_file():
            return name
        if len(content) > self._left:
            return ""
        self._left -= len(content)
        self._place.mkdir(exist_ok=True)
        path.write_bytes(content)
        return name
