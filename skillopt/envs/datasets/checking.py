"""What is wrong with a written set: its files against its manifest, its items against its environment."""

from __future__ import annotations

import hashlib
from pathlib import Path

from skillopt.config.schema.root import EnvSection
from skillopt.core.errors import SkillOptError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject, as_object, parse_json
from skillopt.envs.data.loading import read_rows
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.datasets.placing import MANIFEST
from skillopt.envs.registry import create_env, env_class


def split_counts(place: Path) -> tuple[Sizes, dict[str, str]]:
    """Items of each split file, and the SHA-256 of each."""
    paths = {f"{FOLDERS[split]}/items.json": place / FOLDERS[split] / "items.json" for split in SPLITS}
    sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    return Sizes(*(len(read_rows(path)) for path in paths.values())), sums


def check_split(name: str, place: Path, *, images: Path | None = None) -> list[str]:
    """What is wrong with a split directory of the environment `name`. `images` is where its images lie for now."""
    return check_files(place) or _loaded(name, place, images)


def check_files(place: Path) -> list[str]:
    """What is wrong with the files of a split directory against its manifest."""
    if not (place / MANIFEST).is_file():
        return [f"{place}: is no complete set, {MANIFEST} is missing"]
    try:
        stated = as_object(parse_json((place / MANIFEST).read_text(encoding="utf-8")))
        counts, sums = split_counts(place)
    except (OSError, ValueError) as error:
        return [f"{place}: cannot be read: {error}"]
    except SkillOptError as error:
        return [error.message]
    problems = [
        f"{place / file}: its bytes are not those that were written"
        for file, value in as_object(stated.get("sha256")).items()
        if sums.get(file) != value
    ]
    if as_object(stated.get("counts")) != counts._asdict():
        problems.append(f"{place}: holds {counts} items, its manifest says otherwise")
    return problems


def _loaded(name: str, place: Path, images: Path | None) -> list[str]:
    """The environment's own check of every item."""
    settings: JsonObject = {"data_root": str(images), "data_dirs": [str(images)]} if images is not None else {}
    known = {key: value for key, value in settings.items() if key in env_class(name).Settings.model_fields}
    try:
        create_env(name, EnvSection(name=name, split_mode="split_dir", split_dir=str(place)), known).load()
    except SkillOptError as error:
        return [error.message]
    return []
