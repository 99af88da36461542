"""The game of `testing.rooms` as a real run: a configuration on disk, and its answers over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import yaml

from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.testing import rooms
from skillopt.testing.latency_server import counted
from skillopt.testing.toy_task import request_of

ENV = "skillopt.testing.rooms_env:RoomsEnv"


def answer(body: JsonObject) -> tuple[str, JsonObject]:
    """The game's model with its usage, for `LatencyServer`."""
    text = rooms.respond(request_of(body))
    return text, counted(body, text)


def write_config(path: Path, base_url: str = "", **changes: object) -> Path:
    """A configuration of the game: over HTTP when `base_url` is given, else scripted. `changes` are `section__key`."""
    config: dict[str, dict[str, JsonValue]] = {
        "model": {"backend": "scripted", "scripted_script": "skillopt.testing.rooms:respond"},
        "train": {"num_epochs": 1, "batch_size": 6, "seed": 12},
        "gradient": {"minibatch_size": 3},
        "optimizer": {"learning_rate": 2},
        "env": {
            "name": ENV,
            "max_turns": 16,
            "train_worlds": 12,
            "selection_worlds": 8,
            "test_worlds": 8,
        },
    }
    if base_url:
        config["model"] = {
            "backend": "openai_compatible",
            "openai_compatible_base_url": base_url,
            "target": "toy-target",
            "optimizer": "toy-optimizer",
        }
    for name, value in changes.items():
        section, key = name.split("__", 1)
        config.setdefault(section, {})[key] = cast("JsonValue", value)
    path.write_text(yaml.safe_dump(config))  # pyright: ignore[reportUnknownMemberType]
    return path
