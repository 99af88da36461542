"""The text of a file in whatever encoding it came: UTF-8 with or without a mark, UTF-16 and UTF-32, else Windows
Latin.

A mark at the beginning decides. Without one, UTF-8 is taken where it fits, UTF-16 where every other byte is zero, and
Windows-1252 (Latin-1 with quotes and dashes) is a guess that is told in a line. What holds zero bytes otherwise is no
text. A file packed with gzip is unpacked.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.errors import DataError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Decoded:
    """A file's text. `note` is what was guessed; blank where nothing was."""

    text: str
    note: str = ""


def read_text(path: Path) -> Decoded:
    """Read and decode. Raises `DataError` naming the file."""
    content = read_bytes(path)
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return Decoded(_decoded(path, content, encoding))
    zeros = content[:4096].count(0)
    if zeros:
        wide = _wide(content[:4096])
        if not wide:
            raise DataError(f"{path}: holds zero bytes, so it is no text file", hint="save it as UTF-8 text")
        return Decoded(_decoded(path, content, wide), f"{path}: has no mark of its encoding; read as {wide.upper()}")
    try:
        return Decoded(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        byte = error.start
    try:
        text, name = content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, name = content.decode("latin-1"), "Latin-1"
    line = content.count(b"\n", 0, byte) + 1
    shown = text.splitlines()[line - 1 : line] or [""]
    at = byte - (content.rfind(b"\n", 0, byte) + 1)
    near = shown[0][max(0, at - 12) : at + 12].strip()
    return Decoded(
        text, f"{path}: is not UTF-8; read as {name}, line {line}: …{near}… (if that is wrong, save it as UTF-8)"
    )


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked. Raises `DataError` naming the file."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(_GZIP) else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: cannot be unpacked: {error}", hint="pack it again, or give the plain file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", hint="check the path") from error


def _wide(content: bytes) -> str:
    """The 16-bit encoding in which this is mostly Latin text; blank for none."""
    half = len(content) // 2
    for name, zeros, letters in (
        ("utf-16-le", content[1::2], content[::2]),
        ("utf-16-be", content[::2], content[1::2]),
    ):
        if zeros.count(0) > 0.7 * half and letters.count(0) < 0.05 * half:
            return name
    return ""


def _decoded(path: Path, content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: begins as {encoding.upper()} and is not (byte {error.start})", hint="save the file as UTF-8"
        ) from error
