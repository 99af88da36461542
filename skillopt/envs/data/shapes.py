"""JSON values that hold items, in the shapes in which sets are published and tables are written.

An array of objects; an object around one (`data`, or its only list), wrappers of wrappers included; an object of items
by their keys; the rows of a hub's viewer (`{"rows": [{"row": {…}}]}`); a table by columns, as lists, as a data frame
writes it, or as `columns` and `data`; SQuAD's articles, paragraphs and questions. Anything else is a `DataError` that
says which shapes there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from skillopt.core.errors import DataError
from skillopt.envs.data.rows import Row

SHAPES = (
    "items are a JSON array, JSONL, CSV, TSV, Parquet, an object that holds one list of them (such as 'data'), or an "
    "object of items"
)


def json_rows(path: Path, value: Any) -> Iterator[Row]:
    """The items of a parsed file."""
    if isinstance(value, Mapping):
        value = cast("Mapping[str, Any]", value)
        table = _table(value)
        if table is not None:
            yield from _listed(path, table, "row")
            return
        lists = [name for name, inner in value.items() if _is_items(inner)]
        if isinstance(value.get("data"), list):
            value = cast("list[Any]", value["data"])
        elif len(lists) == 1:  # published sets wrap their items: {"canary": …, "examples": […]}
            value = cast("list[Any]", value[lists[0]])
        elif not lists and (inner := _inner_items(value)) is not None:
            value = inner
        else:
            yield from _named_rows(path, value)
            return
    if not isinstance(value, list):
        raise DataError(f"{path}: holds {type(value).__name__}, not items", hint=SHAPES)
    entries = cast("list[Any]", value)
    if _are_articles(entries):
        entries = list(_questions(entries))
    yield from _listed(path, unwrapped(entries), "item")


def one_row(entry: Any, where: str) -> Row:
    """A row of an entry that must be an object."""
    if not isinstance(entry, Mapping):
        raise DataError(f"{where}: must be an object with named fields, got {type(entry).__name__}", hint=SHAPES)
    return Row(dict(cast("Mapping[str, Any]", entry)), where)


def unwrapped(entries: Sequence[Any]) -> Sequence[Any]:
    """The entries, without the envelope that a hub's viewer puts around each."""
    if entries and all(_is_envelope(entry) for entry in entries):
        return [entry["row"] for entry in entries]
    return entries


def _is_envelope(entry: Any) -> bool:
    if not isinstance(entry, Mapping):
        return False
    fields = cast("Mapping[str, Any]", entry)
    return isinstance(fields.get("row"), Mapping) and fields.keys() <= {"row", "row_idx", "truncated_cells"}


def _listed(path: Path, entries: Sequence[Any], word: str) -> Iterator[Row]:
    for index, entry in enumerate(entries, start=1):
        yield one_row(entry, f"{path}, {word} {index}")


def _is_items(value: Any) -> bool:
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(entries) and all(isinstance(entry, dict) for entry in entries)


def _inner_items(value: Mapping[str, Any]) -> list[Any] | None:
    """The only list of objects below wrappers of wrappers (`{"meta": {…}, "result": {"records": […]}}`); None where
    there is none or more than one, and where the object is one of items by their keys, which share their fields."""
    parts = list(value.values())
    if len(parts) > 1 and all(isinstance(part, Mapping) for part in parts):
        fields = [set(cast("Mapping[str, Any]", part)) for part in parts]
        if set[str].intersection(*fields):
            return None
    found = list(_lists_below(value))
    return found[0] if len(found) == 1 else None


def _lists_below(value: Mapping[str, Any]) -> Iterator[list[Any]]:
    for inner in value.values():
        if _is_items(inner):
            yield inner
        elif isinstance(inner, Mapping):
            yield from _lists_below(cast("Mapping[str, Any]", inner))


def _named_rows(path: Path, value: Mapping[str, Any]) -> Iterator[Row]:
    """Rows of an object of items; the key is the id of an item that has none of its own."""
    for key, entry in value.items():
        row = one_row(entry, f"{path}, item {key!r}")
        yield row if "id" in row.data else Row({"id": key, **row.data}, row.where)


def _table(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of a table that is written by columns; None for anything else."""
    columns, data = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        names, lines = cast("list[Any]", columns), cast("list[Any]", data)
        if lines and all(isinstance(line, list) and len(cast("list[Any]", line)) == len(names) for line in lines):
            return [dict(zip(map(str, names), line, strict=True)) for line in lines]
    parts = list(value.values())
    if len(parts) < 2:
        return None
    if all(isinstance(part, list) for part in parts):
        lists = cast("list[list[Any]]", parts)
        if len({len(part) for part in lists}) == 1 and lists[0] and not any(_is_items(part) for part in lists):
            return [dict(zip(value, cells, strict=True)) for cells in zip(*lists, strict=True)]
    if all(isinstance(part, Mapping) for part in parts):
        columns_of = cast("list[Mapping[str, Any]]", parts)
        keys = list(columns_of[0])
        if keys == [str(n) for n in range(len(keys))] and keys and all(list(part) == keys for part in columns_of):
            return [{name: part[key] for name, part in zip(value, columns_of, strict=True)} for key in keys]
    return None


def _are_articles(entries: Sequence[Any]) -> bool:
    """Whether this is SQuAD's form: articles of paragraphs of questions."""
    return (
        bool(entries)
        and all(
            isinstance(entry, Mapping) and _is_items(cast("Mapping[str, Any]", entry).get("paragraphs"))
            for entry in entries
        )
        and all("qas" in part for entry in entries for part in entry["paragraphs"])
    )


def _questions(articles: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                found: dict[str, Any] = {"id": question.get("id"), "title": article.get("title")}
                found["context"] = paragraph.get("context")
                found["question"] = question.get("question")
                texts = [str(answer.get("text")) for answer in question.get("answers") or ()]
                found["answers"] = list(dict.fromkeys(texts))
                if "is_impossible" in question:
                    found["is_impossible"] = bool(question["is_impossible"])
                yield {name: value for name, value in found.items() if value is not None}
