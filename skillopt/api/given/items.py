"""Items that a program holds: lists of dicts or `Item`s, a data frame, ready splits.

A list is cut (`given.cut`) by the hash of each item's content and the seed, so neither the order of the list nor what
else is in it moves an item of equal rank. Every row gets an `id` (its content's hash where it has none), so that the
written items read back are the same items. Nothing is written here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from skillopt.api.given.cut import cut_for
from skillopt.core.errors import DataError
from skillopt.core.hashing import digest, text_digest
from skillopt.core.item import SPLITS, Item
from skillopt.core.json_types import JsonValue
from skillopt.envs.base import Splits
from skillopt.envs.data.loading import Row
from skillopt.envs.data.own import copies_left_out, reshaped, without_copies
from skillopt.envs.data.plain import plain
from skillopt.envs.data.splits import CUT_REASON

FEWEST = 12
"""Below this a run shows nothing, whatever it finds."""

Rows: TypeAlias = Iterable["Mapping[str, object] | Item"]
ItemsLike: TypeAlias = Rows | Splits | str | Path | object
"""A list of dicts or `Item`s, a data frame, `Splits`, or the path of an item file or of a split directory."""


@dataclass(frozen=True)
class HeldItems:
    """Rows by split, ready to be loaded by an environment."""

    rows: Mapping[str, tuple[Row, ...]]
    typed: bool
    """Whether rows say their type in a field `task_type`."""
    cut: str = ""
    """How a list was cut; blank for given splits."""
    why: str = ""
    """The reason for that cut."""
    notes: tuple[str, ...] = ()
    """What else was done to the list."""

    @property
    def digest(self) -> str:
        """Identity of all rows and of their places, 16 hex digits."""
        return digest({split: [dict(row.data) for row in self.rows[split]] for split in SPLITS})[:16]

    @property
    def manifest(self) -> dict[str, JsonValue]:
        """What `split_manifest.json` says of a cut list; empty for given splits."""
        if not self.cut:
            return {}
        counts: dict[str, JsonValue] = {split: len(self.rows[split]) for split in SPLITS}
        found: dict[str, JsonValue] = {
            "source": "items of a Python program",
            "mode": "content hash",
            "cut": self.cut,
            CUT_REASON: self.why,
            "counts": counts,
        }
        return {**found, **({"warnings": list(self.notes)} if self.notes else {})}


def held_items(items: ItemsLike, seed: int) -> HeldItems:
    """Rows of whatever a program holds. Raises `DataError` naming the item."""
    if isinstance(items, Splits):
        return split_items(items.train, items.selection, items.test)
    rows, typed = _rows(items, "items")
    rows, dropped = without_copies(rows)
    refuse_few(len(rows))
    order = sorted(rows, key=lambda row: text_digest(f"{seed}:{digest(dict(row.data))}"))
    cut = cut_for(len(order))
    train, selection, _ = cut.sizes
    parts = (order[:train], order[train : train + selection], order[train + selection :])
    rows_of = {split: tuple(part) for split, part in zip(SPLITS, parts, strict=True)}
    notes = (copies_left_out("the items", dropped),) if dropped else ()
    return HeldItems(
        rows_of, typed, cut=f"{cut.words}, seed {seed}", why=f"items cut {cut.words}: {cut.reason}", notes=notes
    )


def split_items(train: object, selection: object, test: object) -> HeldItems:
    """Rows of given splits."""
    parts = {name: _rows(part, name) for name, part in zip(SPLITS, (train, selection, test), strict=True)}
    for name, (rows, _) in parts.items():
        if not rows:
            raise DataError(f"{name}= holds no items", hint="every split needs at least one item")
    refuse_few(sum(len(rows) for rows, _ in parts.values()), test=len(parts["test"][0]))
    return HeldItems(
        {name: tuple(rows) for name, (rows, _) in parts.items()}, any(typed for _, typed in parts.values())
    )


def refuse_few(count: int, test: int | None = None) -> None:
    """Raises `DataError` with the smallest gain that so few items could show."""
    if count >= FEWEST:
        return
    from skillopt.gate.power import detectable_gain, items_for, points_of

    sealed = cut_for(count).sizes[2] if test is None else test
    shown = detectable_gain(sealed) if sealed else 1.0
    gain = f"gains below {points_of(shown)} points stay unseen" if shown < 1 else "no gain at all can be shown"
    raise DataError(
        f"{count} item{'' if count == 1 else 's'} in all, {sealed} of them in the sealed test: {gain}",
        hint=f"give {FEWEST} or more; {items_for(0.2)} test items show 20 points, {items_for(0.1)} show 10",
    )


def _rows(items: object, name: str) -> tuple[list[Row], bool]:
    rows: list[Row] = []
    typed = False
    for number, entry in enumerate(_entries(items, name)):
        where = f"{name}[{number}]"
        if isinstance(entry, Item):
            data: dict[str, object] = {"id": entry.id, **entry.data}
            if entry.task_type:
                data, typed = {**data, "task_type": entry.task_type}, True
        else:
            data = dict(reshaped(_named(entry, where)))
        rows.append(_identified(cast("dict[str, object]", plain(data)), where))
    return rows, typed


def _named(entry: object, where: str) -> Mapping[str, object]:
    """The named fields of whatever has some: a mapping, a dataclass, a named tuple, a Pydantic model, a row."""
    if dataclasses.is_dataclass(entry) and not isinstance(entry, type):
        return {field.name: getattr(entry, field.name) for field in dataclasses.fields(entry)}
    for method in ("_asdict", "model_dump"):
        if callable(found := getattr(entry, method, None)) and not isinstance(entry, type):
            return cast("Callable[[], Mapping[str, object]]", found)()
    if isinstance(entry, Mapping) or (hasattr(entry, "keys") and hasattr(entry, "__getitem__")):
        fields = cast("Mapping[object, object]", entry)
        return {str(key): fields[key] for key in fields.keys()}  # noqa: SIM118 - a row of sqlite3 iterates its values
    raise DataError(f"{where} is {type(entry).__name__}", hint="an item is a dict with named fields, or an Item")


def _identified(data: dict[str, object], where: str) -> Row:
    for field, value in data.items():
        try:
            digest(value)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{where}: field {field!r} has no JSON form ({error})", hint="use text, numbers, lists and dicts"
            ) from None
    if data.get("id") is None:
        data = {**data, "id": digest({k: v for k, v in data.items() if k != "id"})[:16]}
    return Row(data, where)


def _entries(items: object, name: str) -> Sequence[object]:
    """The entries of a list, a generator or a table (polars, Arrow or pandas, told by their methods)."""
    if hasattr(items, "collect_schema") and hasattr(items, "collect"):  # a lazy frame of polars
        items = cast("Callable[[], object]", getattr(items, "collect"))()  # noqa: B009
    for method in ("to_dicts", "to_pylist"):
        if callable(found := getattr(items, method, None)):
            return cast("Callable[[], list[object]]", found)()
    if hasattr(items, "to_dict") and hasattr(items, "columns"):
        return cast("Callable[[str], list[object]]", getattr(items, "to_dict"))("records")  # noqa: B009
    if isinstance(items, Iterable) and not isinstance(items, (str, bytes, Mapping)):
        return list(cast("Iterable[object]", items))
    kind = type(cast("object", items)).__name__
    raise DataError(f"{name} cannot be {kind}", hint="give a list of dicts, a data frame, Splits, or a path")


_SHOWN = ("prompt", "question", "input", "task", "text", "query", "problem", "instruction")


def template_for(rows: Iterable[Mapping[str, object]], withheld: Iterable[str]) -> str:
    """The prompt template of items that come without one: their only other field, or one whose name says that it is
    the task. Raises `DataError` with the choices.

    >>> template_for([{"id": "1", "question": "2 + 2?", "answer": "4"}], ["answer"])
    '{{ question }}'
    """
    fields: list[str] = []
    for row in rows:
        here = [k for k, v in row.items() if v is not None and k not in {"id", "task_type", "split", *withheld}]
        fields = [k for k in fields if k in here] if fields else here
    found = fields[0] if len(fields) == 1 else next((name for name in _SHOWN if name in fields), "")
    if not found:
        raise DataError(
            f"which field is the task? The items share {', '.join(fields) or 'no field but id and answer'}",
            hint='say it: prompt="{{ <field> }}"',
        )
    return f"{{{{ {found} }}}}" if found.isidentifier() else f"{{{{ item[{found!r}] }}}}"
