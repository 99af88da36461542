"""The toy task as a real run: data and configuration on disk, and its answers over HTTP.

The answers are those of the shipped scripted model, worked out from the request as it arrives at the server, so a run
through SDK, sockets and retries must decide exactly as a run in one process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import yaml

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.model.types import ChatRequest, Message
from skillopt.testing import toy
from skillopt.testing.latency_server import counted

SPLITS = {"train": 16, "val": 12, "test": 12}
"""Small enough that a run takes about a second and still accepts and rejects."""


def request_of(body: JsonObject) -> ChatRequest:
    """The request a body was made of. The stage is not on the wire; the schema's name stands for it."""
    schema = as_object(as_object(body.get("response_format")).get("json_schema"))
    wanted = schema.get("schema")
    messages = [as_object(m) for m in as_array(body["messages"])]
    return ChatRequest(
        messages=tuple(Message(cast("Literal['user']", m["role"]), cast("str", m["content"])) for m in messages),
        stage=as_text(schema.get("name")),
        schema=None if wanted is None else as_object(wanted),
    )


def answer(body: JsonObject) -> tuple[str, JsonObject]:
    """The toy's reply with its usage, for `LatencyServer`."""
    text = toy.respond(request_of(body))
    return text, counted(body, text)


def write_data(root: Path, sizes: Mapping[str, int] | None = None) -> Path:
    """A `split_dir` of toy items; no item is in two splits."""
    number = 0
    for split, count in (sizes or SPLITS).items():
        (root / split).mkdir(parents=True, exist_ok=True)
        items = [toy.toy_item(n) for n in range(number, number + count)]
        (root / split / "items.json").write_text(json.dumps(items))
        number += count
    return root


def write_config(path: Path, data: Path, base_url: str = "", **changes: Any) -> Path:
    """A configuration of the toy: over HTTP when `base_url` is given, else scripted. `changes` are `section__key`."""
    config: dict[str, dict[str, JsonValue]] = {
        "model": {"backend": "scripted"},
        "train": {"num_epochs": 2, "batch_size": 8, "seed": 12},  # accept, reject, accept, reject
        "gradient": {"minibatch_size": 4},
        "optimizer": {"learning_rate": 2},
        "env": {
            "name": "jsonl",
            "split_mode": "split_dir",
            "split_dir": str(data),
            "answer_field": "answer",
            "prompt_template": "{{ question }}",
            "workers": 8,
            "scorer": {"name": "exact"},
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
        config.setdefault(section, {})[key] = value
    path.write_text(yaml.safe_dump(config))  # pyright: ignore[reportUnknownMemberType]
    return path
