"""Which ids belong to which split: read from a published id manifest, or cut by a ratio.

A manifest is `{train,val,test}/items.json`, each entry with at least an `id`. Ids that stand twice, ids that the source
does not have and counts that are not the published ones are refused, the first five named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject
from skillopt.core.streams import numbered, shuffled
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.data.splits import FOLDERS, items_needed, parse_ratio, split_sizes
from skillopt.envs.datasets.dataset import RATIO, Request, Sizes

_SHOWN = 5

Entries = Mapping[str, Sequence[Row]]
"""Manifest entries by canonical split name."""


def split_name(asked: str, splits: Mapping[str, Sizes]) -> str:
    """The name of a split that exists; blank is the first. Raises `ConfigError` with the choices."""
    name = asked or next(iter(splits), RATIO)
    if name != RATIO and name not in splits:
        known = ", ".join([*splits, RATIO])
        raise ConfigError(f"no split is called {asked!r}", hint=f"known: {known}")
    return name


def read_manifest(directory: Path, sizes: Sizes | None = None) -> Entries:
    """Entries of each split, in manifest order. Raises `DataError`."""
    found: dict[str, list[Row]] = {}
    for split in SPLITS:
        path = directory / FOLDERS[split] / "items.json"
        if not path.is_file():
            raise DataError(
                f"{path}: the id manifest is missing",
                hint=f"point --manifest-dir at the published one, or cut a split of your own: --split {RATIO}",
            )
        rows = read_rows(path)
        if not rows or any(row.identifier() is None for row in rows):
            raise DataError(f"{path}: every entry needs an id, and there must be at least one")
        found[split] = rows
    refuse_twice([ident(row) for rows in found.values() for row in rows], f"the manifest {directory}")
    counts = Sizes(*(len(found[split]) for split in SPLITS))
    if sizes is not None and counts != sizes:
        raise DataError(f"{directory}: holds {counts} ids, the split has {sizes}", hint="choose --split by its sizes")
    return found


def ident(row: Row) -> str:
    """The id of a checked entry."""
    return str(row.data["id"])


def cut(ids: Sequence[str], ratio: str, seed: int, where: str) -> dict[str, list[str]]:
    """Ids by split: shuffled with the seed, cut by largest remainder, as `env.split_mode: ratio` does it."""
    parsed = parse_ratio(ratio)
    sizes = split_sizes(len(ids), parsed)
    if min(sizes) == 0:
        raise DataError(f"{where}: {len(ids)} items cut {ratio} leave a split empty",
                        hint=f"this ratio needs at least {items_needed(parsed)}")  # fmt: skip
    order, train, val = shuffled(ids, numbered(seed)), sizes[0], sizes[0] + sizes[1]
    return {"train": order[:train], "selection": order[train:val], "test": order[val:]}


def once(rows: Iterable[Row], ident_of: Callable[[Row], str | None], where: str) -> dict[str, Row]:
    """Rows by their id. Raises `DataError` for one without, or with one that stood before."""
    found: dict[str, Row] = {}
    twice: list[str] = []
    for row in rows:
        name = ident_of(row)
        if name is None:
            raise row.fault("the id is missing", hint="is this a file of the data set?")
        if name in found:
            twice.append(name)
        found.setdefault(name, row)
    if twice:
        raise DataError(f"{len(twice)} ids stand twice in {where}: {first(twice)}", hint="give each file once")
    return found


def placed(
    found: Mapping[str, Row], known: Entries | None, request: Request, *, where: str, title: str
) -> dict[str, list[JsonObject]]:
    """The rows of each split as items: those that a manifest names, or all of them, cut. Raises `DataError`."""
    if known is None:
        names = cut(list(found), request.ratio, request.seed, title)
    else:
        names = {split: [ident(entry) for entry in rows] for split, rows in known.items()}
        refuse_missing([name for each in names.values() for name in each], found, where)
    return {split: [dict(found[name].data) for name in names[split]] for split in SPLITS}


def refuse_missing(wanted: Sequence[str], found: Mapping[str, object], where: str) -> None:
    """Raise `DataError` for ids that the source does not have."""
    missing = [item_id for item_id in wanted if item_id not in found]
    if missing:
        raise DataError(
            f"{len(missing)} ids of {where} are not in the source: {first(missing)}",
            hint="use the complete data set at the right --revision",
        )


def refuse_twice(ids: Sequence[str], where: str) -> None:
    """Raise `DataError` for ids that stand more than once."""
    seen: set[str] = set()
    twice = [item_id for item_id in ids if item_id in seen or seen.add(item_id)]
    if twice:
        raise DataError(f"{len(twice)} ids stand twice in {where}: {first(twice)}", hint="ids must be unique")


def first(ids: Sequence[str]) -> str:
    """The first five."""
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
