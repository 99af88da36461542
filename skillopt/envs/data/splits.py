"""Train, selection and test: read from a prepared directory, or cut from one file by a ratio.

`split_dir` reads `{train,val,test}/` (aliases of `core.item.SPLIT_ALIASES`), the first item file of each. `ratio`
shuffles with `Random(split_seed)` and cuts by largest remainder; with `split_output_dir` set, the result is written
there as a split directory. Refused: an empty split, an id that stands twice, an item whose own `split` field
disagrees with its place. Reported in `Splits.manifest["warnings"]`: equal text under two ids over splits, splits of
one item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import SPLIT_ALIASES, SPLITS, Item
from skillopt.core.streams import numbered, shuffled
from skillopt.envs.base import EnvConfig, Splits
from skillopt.envs.data.hub_path import hub_file, is_hub_address
from skillopt.envs.data.loading import ITEM_SUFFIXES, ItemFile, Row, item_files, read_items, the_items_file
from skillopt.envs.data.placed import Placed, check_unique, near_duplicates, too_small
from skillopt.store.atomic import write_json

CUT_REASON = "cut_reason"
"""Of a manifest: why the items were cut as they were, for the plan."""
FOLDERS = {"train": "train", "selection": "val", "test": "test"}
_MARKS = {**SPLIT_ALIASES, "validation": "selection", "valid": "selection", "dev": "selection"}


ToItem = Callable[[Row], Item]


@dataclass(frozen=True)
class Source:
    """What an environment adds to the shared loader.

    `to_item` checks a row's fields and builds the item; `text` is what two items share when they are the same task;
    `materialise` is the command that writes the split directory, named when it is absent.
    """

    to_item: ToItem
    text: Callable[[Item], str]
    materialise: str = ""
    keep: Callable[[Row], bool] | None = None
    """Which rows of a file are items; None: all."""
    prepare: Callable[[ItemFile], ItemFile] | None = None
    """What is done to a file's rows before they are items; None: nothing."""

    def kept(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that are items."""
        return [row for row in rows if self.keep is None or self.keep(row)]

    def read(self, path: Path) -> ItemFile:
        """The rows of a file that are items, and what was noticed about it."""
        found = read_items(path)
        found = self.prepare(found) if self.prepare is not None else found
        return ItemFile(self.kept(found.rows), found.notes)


def load_splits(config: EnvConfig, source: Source) -> Splits:
    """Items of all three splits, checked. Raises `DataError` or `ConfigError`; sends nothing to any model."""
    if config.split_mode == "split_dir":
        placed, manifest = _from_directory(config, source)
    elif config.split_mode == "ratio":
        placed, manifest = _from_ratio(config, source)
    else:
        raise ConfigError(f"env.split_mode={config.split_mode!r} is unknown", hint="use split_dir or ratio")
    items = _checked(placed, source, manifest)
    splits = _cut(config, items, manifest)
    if config.split_mode == "ratio" and config.split_output_dir:
        write_split(config, Path(config.split_output_dir), splits)
    return splits


def given_splits(
    config: EnvConfig, source: Source, rows: Mapping[str, Sequence[Row]], manifest: Mapping[str, Any]
) -> Splits:
    """As `load_splits`, from rows by canonical split name that a program holds in its memory."""
    placed: Placed = {split: [(source.to_item(row), row.where) for row in rows[split]] for split in SPLITS}
    empty = " and ".join(split for split in SPLITS if not placed[split])
    if empty:
        raise DataError(f"there are no items for {empty}", hint="every split needs at least one item")
    return _cut(config, _checked(placed, source, said := dict(manifest)), said)


def _checked(placed: Placed, source: Source, manifest: dict[str, Any]) -> dict[str, tuple[Item, ...]]:
    """The items by split; what is worth a warning goes into the manifest."""
    check_unique(placed)
    warnings = [*manifest.get("warnings", ()), *near_duplicates(placed, source.text), *too_small(placed)]
    if warnings:
        manifest["warnings"] = warnings
    return {split: tuple(item for item, _ in placed[split]) for split in SPLITS}


def _cut(config: EnvConfig, items: Mapping[str, tuple[Item, ...]], manifest: Mapping[str, Any]) -> Splits:
    cut = {split: entries[: config.limit] if config.limit > 0 else entries for split, entries in items.items()}
    total, uncut = len(items["train"]), dict(items) if config.limit > 0 else {}
    return Splits(cut["train"], cut["selection"], cut["test"], train_total=total, manifest=manifest, uncut=uncut)


# --- sizes -----------------------------------------------------------------------------------------------------------


def parse_ratio(text: str) -> tuple[int, int, int]:
    """`2:1:7` as three positive whole numbers. Raises `ConfigError`."""
    parts = text.replace("-", ":").split(":")
    if len(parts) != 3 or not all(p.strip().isascii() and p.strip().isdigit() and int(p) > 0 for p in parts):
        raise ConfigError(
            f"env.split_ratio={text!r} is not train:val:test", hint="three positive whole numbers, for example 2:1:7"
        )
    train, val, test = (int(p) for p in parts)
    return train, val, test


def split_sizes(n: int, ratio: tuple[int, int, int]) -> tuple[int, int, int]:
    """Largest-remainder rounding: floor each share, then one more to the largest fractions, ties to the larger
    weight."""
    total = sum(ratio)
    sizes = [n * weight // total for weight in ratio]
    order = sorted(range(3), key=lambda i: (-(n * ratio[i] % total), -ratio[i], i))
    for i in order[: n - sum(sizes)]:
        sizes[i] += 1
    return sizes[0], sizes[1], sizes[2]


def items_needed(ratio: tuple[int, int, int]) -> int:
    """The smallest number of items from which this ratio leaves no split empty, however many more there are."""
    n = sum(ratio)
    while n > 3 and min(split_sizes(n - 1, ratio)) > 0:
        n -= 1
    return n


def generated_name(config: EnvConfig) -> str:
    """Directory name of a generated split, for example `searchqa_2-1-7_seed42`."""
    ratio = "-".join(str(part) for part in parse_ratio(config.split_ratio))
    return f"{config.name}_{ratio}_seed{config.split_seed}"


def write_split(config: EnvConfig, folder: Path, splits: Splits) -> None:
    """Write a split that a ratio generated into its directory below `folder`, whole where `limit` cut it."""
    items = {split: splits.uncut.get(split, splits.named(split)) for split in SPLITS}
    write_generated(folder / generated_name(config), items, splits.manifest)


def write_generated(directory: Path, items: Mapping[str, Sequence[Item]], manifest: Mapping[str, Any]) -> None:
    """Write a split directory that `split_dir` mode reads back. Equal input gives equal bytes; the manifest comes
    last."""
    for split in SPLITS:
        rows = [dict(i.data) if "id" in i.data else {"id": i.id, **i.data} for i in items[split]]
        write_json(directory / FOLDERS[split] / "items.json", rows)
    write_json(directory / "split_manifest.json", dict(manifest))


# --- the two modes ---------------------------------------------------------------------------------------------------


def _from_ratio(config: EnvConfig, source: Source) -> tuple[Placed, dict[str, Any]]:
    if not config.data_path.strip():
        raise ConfigError(
            "env.data_path is blank, and env.split_mode=ratio cuts its splits from that file",
            hint="set env.data_path, or env.split_mode=split_dir with env.split_dir",
        )
    hub = hub_file(config.data_path) if is_hub_address(config.data_path) else None
    path = hub.path if hub else Path(config.data_path)
    if not path.exists():
        raise DataError(f"{path}: env.data_path does not exist", hint=_command(source))
    file = source.read(the_items_file(path) if path.is_dir() else path)
    rows = file.rows
    _refuse_marked(path, rows)
    ratio = parse_ratio(config.split_ratio)
    placed_rows = shuffled([(source.to_item(row), row.where) for row in rows], numbered(config.split_seed))
    sizes = split_sizes(len(rows), ratio)
    if min(sizes) == 0:
        empty = " and ".join(split for split, size in zip(SPLITS, sizes, strict=True) if size == 0)
        raise DataError(
            f"{path}: {len(rows)} items cut {config.split_ratio} leave {empty} empty",
            hint=f"this ratio needs at least {items_needed(ratio)} items; add items or change env.split_ratio",
        )
    train, val = sizes[0], sizes[0] + sizes[1]
    placed = {"train": placed_rows[:train], "selection": placed_rows[train:val], "test": placed_rows[val:]}
    manifest: dict[str, Any] = {
        "source": hub.address if hub else config.data_path,
        "mode": "ratio",
        "ratio": ":".join(map(str, ratio)),
        "seed": config.split_seed,
        "counts": {FOLDERS[split]: len(placed[split]) for split in SPLITS},
    }
    notes = [*file.notes, *([hub.note] if hub and hub.note else [])]
    if notes:
        manifest["warnings"] = notes
    return placed, manifest


def _from_directory(config: EnvConfig, source: Source) -> tuple[Placed, dict[str, Any]]:
    if not config.split_dir.strip():
        raise ConfigError("env.split_dir is blank, and env.split_mode=split_dir reads it", hint=_command(source))
    root = Path(config.split_dir)
    if not root.is_dir():
        raise DataError(f"{root}: env.split_dir does not exist", hint=_command(source))
    placed: Placed = {}
    notes: list[str] = []
    for split in SPLITS:
        file = _split_file(root, split, source)
        found = source.read(file)
        rows = found.rows
        notes.extend(found.notes)
        if not rows:
            raise DataError(f"{file}: the {split} split is empty", hint="each split needs at least one item")
        for row in rows:
            mark = _mark(row)
            if mark and mark != split:
                raise row.fault(
                    f"stands in the {split} split but its own field says split={_marked(row)!r}",
                    hint="move the item or correct the field",
                )
        placed[split] = [(source.to_item(row), row.where) for row in rows]
    return placed, {"warnings": notes} if notes else {}


def _split_file(root: Path, split: str, source: Source) -> Path:
    names = [name for name, canonical in SPLIT_ALIASES.items() if canonical == split]
    present = [root / name for name in names if (root / name).is_dir()]
    if len(present) > 1:
        raise DataError(
            f"{root}: has {present[0].name}/ and {present[1].name}/, two names of the {split} split", hint="keep one"
        )
    if not present:
        raise DataError(f"{root}: has no {FOLDERS[split]}/ folder", hint=_command(source))
    files = item_files(present[0])
    if not files:
        raise DataError(f"{present[0]}: holds no item file ({', '.join(ITEM_SUFFIXES)})", hint=_command(source))
    named = [file for file in files if file.stem == "items"]
    if len(named or files) > 1:
        names = ", ".join(file.name for file in (named or files)[:4])
        raise DataError(f"{present[0]}: holds {len(named or files)} item files ({names})", hint="keep one of them")
    return (named or files)[0]


def _command(source: Source) -> str:
    return (
        f"run: {source.materialise}"
        if source.materialise
        else "check the path; it is read from the working directory, so run the command in the project's own"
    )


# --- checks ----------------------------------------------------------------------------------------------------------


def _mark(row: Row) -> str | None:
    value = _marked(row)
    return _MARKS.get(value.strip().lower()) if isinstance(value, str) else None


def _marked(row: Row) -> object:
    """What the item's own field says, whatever the case of its name."""
    return next((value for name, value in row.data.items() if name.strip().lower() == "split"), None)


def _refuse_marked(path: Path, rows: Sequence[Row]) -> None:
    """A ratio must not deal out items that say where they belong: test is never a fallback for train. A word that is
    no split's name (`holdout`) says so too."""
    marks = {_mark(row) for row in rows}
    if rows and marks == {"test"}:
        raise DataError(f"{path}: all {len(rows)} items are marked split=test", hint="add train and val items")
    for row in rows:
        value = _marked(row)
        if _mark(row) not in (None, "train") or (isinstance(value, str) and value.strip() and _mark(row) is None):
            raise row.fault(
                f"is marked split={value!r}, but env.split_mode=ratio would deal it out at random",
                hint="store the items as a split directory, or remove the field 'split'",
            )
