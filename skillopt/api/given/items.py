"""Items that a program holds: lists of dicts or `Item`s, a data frame, ready splits.

A list is cut (`given.cut`) by the hash of each item's content and the seed, so neither the order of the list nor what
else is in it moves an item of equal rank. Every row gets an `id` (its content's hash where it has none), so that the
written items read back are the same items. Nothing is written here.
"""

from __future__ import annotations

import math
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
from skillopt.envs.data.own import reshaped, without_copies
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

    @property
    def digest(self) -> str:
        """Identity of all rows and of their places, 16 hex digits."""
        return digest({split: [dict(row.data) for row in self.rows[split]] for split in SPLITS})[:16]

    @property
    def manifest(self) -> dict[str, JsonValue]:
        """What `split_manifest.json` says of a cut list; empty for given splits."""
        counts: dict[str, JsonValue] = {split: len(self.rows[split]) for split in SPLITS}
        return (
            {
                "source": "items of a Python program",
                "mode": "content hash",
                "cut": self.cut,
                CUT_REASON: self.why,
                "counts": counts,
            }
            if (self.cut)
            else {}
        )


def held_items(items: ItemsLike, seed: int) -> HeldItems:
    """Rows of whatever a program holds. Raises `DataError` naming the item."""
    if isinstance(items, Splits):
        return split_items(items.train, items.selection, items.test)
    rows, typed = _rows(items, "items")
    rows, _ = without_copies(rows)
    refuse_few(len(rows))
    order = sorted(rows, key=lambda row: text_digest(f"{seed}:{digest(dict(row.data))}"))
    cut = cut_for(len(order))
    train, selection, _ = cut.sizes
    parts = (order[:train], order[train : train + selection], order[train + selection :])
    rows_of = {split: tuple(part) for split, part in zip(SPLITS, parts, strict=True)}
    return HeldItems(rows_of, typed, cut=f"{cut.words}, seed {seed}", why=f"items cut {cut.words}: {cut.reason}")


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
        elif isinstance(entry, Mapping):
            named = {str(key): value for key, value in cast("Mapping[object, object]", entry).items()}
            data = dict(reshaped(named))
        else:
            raise DataError(
                f"{where} is {type(entry).__name__}", hint="an item is a dict with named fields, or an Item"
            )
        rows.append(_identified(data, where))
    return rows, typed


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
    """The entries of a list, a generator or a data frame (pandas or polars, told by their methods)."""
    if hasattr(items, "to_dicts"):
        return _without_nan(cast("Callable[[], list[dict[str, object]]]", getattr(items, "to_dicts"))())  # noqa: B009
    if hasattr(items, "to_dict") and hasattr(items, "columns"):
        records = cast("Callable[[str], list[dict[str, object]]]", getattr(items, "to_dict"))  # noqa: B009
        return _without_nan(records("records"))
    if isinstance(items, Iterable) and not isinstance(items, (str, bytes, Mapping)):
        return list(cast("Iterable[object]", items))
    kind = type(cast("object", items)).__name__
    raise DataError(f"{name} cannot be {kind}", hint="give a list of dicts, a data frame, Splits, or a path")


def _without_nan(records: list[dict[str, object]]) -> list[dict[str, object]]:
    """A data frame's way to say that nothing is there."""
    return [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in records]


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
