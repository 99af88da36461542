"""Oracle pages: the elements of the gold pages as text, tables in Markdown, cut at fixed lengths.

A parsed bulletin is `jsons/<stem>.json` with `document.elements[{content, bbox: [{page_id}]}]`. With these pages in the
prompt a task is reading rather than retrieval; which of the two it was stands with every score.
"""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from skillopt.core.json_types import JsonObject, as_array, as_number, as_object, as_text, parse_json

MOST_A_PAGE, MOST_IN_ALL = 24_000, 80_000
_CUT = "\n[… cut]"


def oracle_pages(roots: Sequence[Path], places: Sequence[tuple[str, int]]) -> str:
    """The pages that exist, each under its name; blank where none does. Raises `OSError` for a file that is broken."""
    blocks: list[str] = []
    left = MOST_IN_ALL
    for stem, page in dict.fromkeys(places):
        text = _page(roots, stem, page)
        if not text or left <= 0:
            continue
        block = f"### {stem}, page {page}\n\n{_cut(text, MOST_A_PAGE)}"
        blocks.append(_cut(block, left))
        left -= len(blocks[-1])
    return "\n\n".join(blocks)


def _page(roots: Sequence[Path], stem: str, page: int) -> str:
    places = (p for root in roots for p in (root / "jsons" / f"{stem}.json", root / f"{stem}.json"))
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        return ""
    try:
        said = as_object(parse_json(path.read_bytes()))
    except ValueError as error:
        raise OSError(f"{path}: is not JSON: {error}") from error
    elements = [as_object(e) for e in as_array(as_object(said.get("document")).get("elements"))]
    return "\n\n".join(t for e in elements if page in _pages(e) and (t := rendered(as_text(e.get("content")))))


def _pages(element: JsonObject) -> set[float]:
    numbers = (as_number(as_object(box).get("page_id")) for box in as_array(element.get("bbox")))
    return {number for number in numbers if number is not None}


def rendered(content: str) -> str:
    """An element's text; HTML tables become Markdown."""
    if "<table" not in content.lower():
        return content.strip()
    reader = _Tables()
    reader.feed(content)
    reader.close()
    return "\n".join(reader.parts).strip()


class _Tables(HTMLParser):
    """Text, and each table as rows of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._rows: list[list[str]] | None = None
        self._cell: list[str] | None = None
        self._span = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, a row or a cell; a cell over several columns is followed by empty ones."""
        if tag == "table":
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._end_cell()
            span = dict(attrs).get("colspan") or "1"
            self._cell, self._span = [], min(int(span), 50) if span.isdigit() else 1

    def handle_endtag(self, tag: str) -> None:
        """Close it."""
        if tag in ("td", "th", "tr"):
            self._end_cell()
        elif tag == "table" and self._rows is not None:
            self._end_cell()
            self.parts.append(_markdown([row for row in self._rows if row]))
            self._rows = None

    def handle_data(self, data: str) -> None:
        """Text of a cell, or between tables."""
        if self._cell is not None:
            self._cell.append(data)
        elif self._rows is None and data.strip():
            self.parts.append(data.strip())

    def _end_cell(self) -> None:
        if self._cell is not None and self._rows:
            text = " ".join("".join(self._cell).split()).replace("|", "\\|")
            self._rows[-1] += [text, *[""] * (self._span - 1)]
        self._cell = None


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - len(_CUT))] + _CUT
