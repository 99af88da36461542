"""What is wrong with a written set: its files against its manifest, its items against its environment."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.config.schema.root import EnvSection
from skillopt.core.errors import SkillOptError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, parse_json
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.datasets.manifest import first
from skillopt.envs.datasets.placing import MANIFEST
from skillopt.envs.registry import create_env, env_class


def split_counts(place: Path) -> tuple[Sizes, dict[str, str]]:
    """Items of each split file, and the SHA-256 of each."""
    paths = {f"{FOLDERS[split]}/items.json": place / FOLDERS[split] / "items.json" for split in SPLITS}
    sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    return Sizes(*(len(read_rows(path)) for path in paths.values())), sums


_NAMES = ("id", "uid", "instance_id", "question_id", "questionId", "taskId", "problem_index", "sample_index")
"""What the benchmarks call an item's id."""


def split_ids(place: Path) -> dict[str, list[JsonValue]]:
    """The ids of each split file, in order; items without one (a source's row is their id) are left out."""
    found: dict[str, list[JsonValue]] = {}
    for split in SPLITS:
        named = (_id(row) for row in read_rows(place / FOLDERS[split] / "items.json"))
        found[FOLDERS[split]] = [name for name in named if name is not None]
    return found


def _id(row: Row) -> str | None:
    return next((str(row.data[name]) for name in _NAMES if row.data.get(name) not in (None, "")), None)


def check_split(name: str, place: Path, *, images: Path | None = None) -> list[str]:
    """What is wrong with a split directory of the environment `name`. `images` is where its images lie for now."""
    problems, readable = _files(place)
    return [*problems, *(_loaded(name, place, images) if readable else [])]


def check_files(place: Path) -> list[str]:
    """What is wrong with the files of a split directory against its manifest."""
    return _files(place)[0]


def _files(place: Path) -> tuple[list[str], bool]:
    """The same, and whether the split can be read at all."""
    if not (place / MANIFEST).is_file():
        return [f"{place}: is no complete set, {MANIFEST} is missing"], False
    try:
        stated = as_object(parse_json((place / MANIFEST).read_text(encoding="utf-8")))
        counts, sums = split_counts(place)
        ids = split_ids(place)
    except (OSError, ValueError) as error:
        return [f"{place}: cannot be read: {error}"], False
    except SkillOptError as error:
        return [error.message], False
    problems = [
        f"{place / file}: its bytes are not those that were written"
        for file, value in as_object(stated.get("sha256")).items()
        if sums.get(file) != value
    ]
    if as_object(stated.get("counts")) != counts._asdict():
        problems.append(f"{place}: holds {counts} items, its manifest says otherwise")
    return [*problems, *_wrong_ids(place, as_object(stated.get("ids")), ids)], True


def _wrong_ids(place: Path, stated: JsonObject, found: Mapping[str, Sequence[JsonValue]]) -> list[str]:
    """Ids that stand twice, and those of the manifest that are not in their split; the first five of each."""
    counted = Counter(str(name) for names in found.values() for name in names)
    twice = [name for name, times in counted.items() if times > 1]
    lost = [str(n) for folder, names in stated.items() for n in as_array(names) if n not in found.get(folder, ())]
    return [
        *([f"{place}: {len(twice)} ids stand twice: {first(twice)}"] if twice else []),
        *([f"{place}: {len(lost)} ids of its manifest are missing: {first(lost)}"] if lost else []),
    ]


def _loaded(name: str, place: Path, images: Path | None) -> list[str]:
    """The environment's own check of every item."""
    settings: JsonObject = {"data_root": str(images), "data_dirs": [str(images)]} if images is not None else {}
    known = {key: value for key, value in settings.items() if key in env_class(name).Settings.model_fields}
    try:
        create_env(name, EnvSection(name=name, split_mode="split_dir", split_dir=str(place)), known).load()
    except SkillOptError as error:
        return [error.message]
    return []
