"""ALFWorld items: `{id, gamefile, task_type}`, a game file being relative to the data's root.

The root is `env.data_root`, else `$ALFWORLD_DATA`, else `~/.cache/alfworld`, where `alfworld-download` puts the games.
Each game's digest is part of its item, so that another game is another item.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from skillopt.core.item import Item
from skillopt.core.json_types import JsonValue, as_text
from skillopt.envs.data.loading import Row
from skillopt.envs.data.splits import Source

DOWNLOAD = 'pip install "skillopt[alfworld]" && alfworld-download'
_HINT = "an ALFWorld item is {id, gamefile, task_type}; data/alfworld_path_split holds the published ones"
_TYPES = ("pick_and_place", "pick_two_obj_and_place", "look_at_obj_in_light", "pick_heat_then_place_in_recep",
          "pick_cool_then_place_in_recep", "pick_clean_then_place_in_recep")  # fmt: skip


def root_of(data_root: str) -> Path:
    """Where the games lie."""
    place = data_root.strip() or os.environ.get("ALFWORLD_DATA", "").strip() or "~/.cache/alfworld"
    return Path(place).expanduser()


def source(root: Path) -> Source:
    """The loader of games below `root`."""
    to_item: Callable[[Row], Item] = lambda row: item_of(row, root)  # noqa: E731
    return Source(to_item=to_item, text=lambda item: str(item.data["gamefile"]), materialise=DOWNLOAD)


def item_of(row: Row, root: Path) -> Item:
    """Check one row. Raises `DataError` naming file, place and the game that is not there."""
    item_id = row.identifier()
    if item_id is None:
        raise row.fault("field 'id' is missing", hint=_HINT)
    name = row.text("gamefile", hint=_HINT)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise row.fault(f"gamefile={name!r} leads out of the games' directory")
    path = root / name
    try:
        content = path.read_bytes()
    except OSError as error:
        hint = f"set env.data_root or ALFWORLD_DATA, or fetch the games: {DOWNLOAD}"
        raise row.fault(f"the game {path}: {error.strerror}", hint=hint) from error
    data: dict[str, JsonValue] = {"id": item_id, "gamefile": name, "task_type": kind_of(row, name)}
    data["sha256"] = hashlib.sha256(content).hexdigest()[:16]
    return Item(item_id, data, as_text(data["task_type"]))


def kind_of(row: Row, name: str) -> str:
    """The task's type: the row's own, else the beginning of the game's folder."""
    return kind(as_text(row.data.get("task_type")) or name)


def kind(said: str) -> str:
    """The type that a text names, a game's path for example; else `other`."""
    return next((each for each in _TYPES if each in said), "other")
