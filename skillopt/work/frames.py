"""Messages between a driver and its workers: four bytes of length, most significant first, then JSON in ASCII.

ASCII keeps lone surrogates; NaN and infinities pass, because it is the boundary check behind this one that has to name
them. A message over the limit is refused where it is made, so that a reader never meets one.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, BinaryIO, cast

from skillopt.core.json_types import JsonObject

if TYPE_CHECKING:  # a worker has no need of it and starts in half the time without
    import asyncio

MOST_BYTES = 256 * 1024 * 1024
_LENGTH = struct.Struct(">I")


def encode(message: JsonObject) -> bytes:
    """One message as bytes. Raises `ValueError` or `TypeError` for what is too long or no JSON."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    if len(body) > MOST_BYTES:
        raise ValueError(f"a message of {len(body)} bytes, at most {MOST_BYTES} can be sent")
    return _LENGTH.pack(len(body)) + body


def decode(body: bytes) -> JsonObject:
    """The message of a body. Raises `ValueError` when it is no JSON object."""
    value: object = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError(f"a message is a JSON object, got {type(value).__name__}")
    return cast("JsonObject", value)


def copied(message: JsonObject) -> JsonObject:
    """What arrives at the other side."""
    return decode(encode(message)[_LENGTH.size :])


def read(stream: BinaryIO) -> JsonObject | None:
    """The next message, blocking; None at the end of the stream, also in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    length = _size(head)
    body = stream.read(length)
    return decode(body) if len(body) == length else None


async def receive(stream: asyncio.StreamReader) -> JsonObject | None:
    """The next message; None at the end of the stream, also in the middle of a message."""
    try:
        head = await stream.readexactly(_LENGTH.size)
        return decode(await stream.readexactly(_size(head)))
    except (EOFError, ConnectionError):  # EOFError: `asyncio.IncompleteReadError` is one
        return None


def _size(head: bytes) -> int:
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise ValueError("this is no stream of messages: something else was written to it")
    return length
