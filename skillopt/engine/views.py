"""The views of the last step, on their way to the disk while the next step has begun. None of them is read back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Views:
    """Owns one write at a time, in a worker thread."""

    def __init__(self) -> None:
        self._writing: asyncio.Future[None] | None = None

    def write(self, action: Callable[[], None]) -> None:
        """Begin writing in a worker thread; the step before must have been `written`."""
        self._writing = asyncio.ensure_future(asyncio.to_thread(action))

    async def written(self) -> None:
        """Wait for the disk. Raises what the file system said."""
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing
