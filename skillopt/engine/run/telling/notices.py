"""What lower floors log as a warning, as notices of the run: a parameter that a model refused, for one.

Below the engine nothing knows of events. While a run is open its warnings go where the user looks, once each.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from skillopt.records.events import Emit, Notice

_ROOT = "skillopt"


class _Handler(logging.Handler):
    def __init__(self, emit: Emit) -> None:
        super().__init__(logging.WARNING)
        self._emit, self._told = emit, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            self._emit(Notice(text=f"warning: {text}"))


@contextmanager
def warnings_as_notices(emit: Emit) -> Generator[None]:
    """Warnings of the package become notices until the context ends."""
    handler, logger = _Handler(emit), logging.getLogger(_ROOT)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
