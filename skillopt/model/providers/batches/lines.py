"""The lines of a file of results: JSON, one row a line, ended by a line feed and by nothing else.

Texts may hold any other line separator of Unicode's as it is. A line that cannot be read is a fault of its own: the
others are answers that were paid for.
"""

from __future__ import annotations

from collections.abc import Iterator

from skillopt.core.errors import TransientModelError
from skillopt.core.json_types import JsonValue, as_object
from skillopt.model.providers.wire.reply import parse_body


def rows_of(text: str, where: str) -> Iterator[dict[str, JsonValue] | TransientModelError]:
    """Each row, or why it cannot be read; `where` is the address, for messages."""
    for line in text.split("\n"):
        if line.strip():
            try:
                yield as_object(parse_body(line, where))
            except TransientModelError as error:
                yield error
