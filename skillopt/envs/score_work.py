"""Work `env.score`: one call of a user's scoring function, in whatever process the executor chooses.

Imports nothing that a worker does not need. Arguments go out as JSON and become what the function expects; what it
returns comes back with a word for its kind, because a `Scored` and a pair have no JSON of their own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import cast

from skillopt.agents.left_files import LeftFiles
from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.core.outcome import Missing, Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.data.plain import plain
from skillopt.work.functions import load, source_digest
from skillopt.work.handling import Unit
from skillopt.work.registry import Handler

HANDLERS: Mapping[str, Handler] = {
    "env.score": Handler("skillopt.envs.score_work:call_scorer"),
    "env.score_async": Handler("skillopt.envs.score_work:call_scorer", shared=True),
    "env.episode": Handler("skillopt.envs.episodes.work:open_session"),
}
"""`env.score_async` is for functions written with `async def`: they wait, so that one worker holds several."""


class Unusable:
    """Stands for a value that JSON cannot hold; shows itself as the value did."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def payload_of(
    function: str,
    search: Sequence[str],
    names: Sequence[str],
    answer: str,
    rollout: Rollout,
    *,
    optional: Sequence[str] = (),
    workspace: LeftFiles | None = None,
) -> JsonObject:
    """What is sent: the function, the names of its arguments, and what they are made of."""
    wanted = {*names, *optional}
    files = workspace.to_json() if workspace is not None and "workspace" in wanted else None
    return {
        "function": function,
        "search": list(search),
        "names": list(names),
        "answer": answer,
        "rollout": rollout_json(rollout) if {"trajectory", "rollout"} & wanted else item_json(rollout.item),
        **({"optional": list(optional)} if optional else {}),
        **({"workspace": files} if files is not None else {}),
    }


def call_scorer(payload: JsonObject, unit: Unit) -> JsonObject | Awaitable[JsonObject]:
    """The worker's side. Raises `ConfigError` when the source is not the one that the driver read."""
    where = str(payload["function"])
    found = load(where, cast("Sequence[str]", payload["search"]))
    if unit.version and source_digest(found) != unit.version:
        raise ConfigError(
            f"the source of the scorer {where} was changed while the run was on",
            hint="start the run again: with the new source it is another scorer",
        )
    rollout = rollout_of(cast("JsonObject", payload["rollout"]))
    workspace = LeftFiles.from_json(payload["workspace"]) if "workspace" in payload else None
    given: Mapping[str, object] = arguments(str(payload["answer"]), rollout, workspace)
    optional = cast("Sequence[str]", payload.get("optional") or ())
    value = called(found, cast("Sequence[str]", payload["names"]), given, optional)
    return _later(cast("Awaitable[object]", value)) if hasattr(value, "__await__") else packed(value)


def arguments(answer: str, rollout: Rollout, workspace: LeftFiles | None = None) -> dict[str, object]:
    """What a scoring function may ask for, by the name of its parameter."""
    return {
        "answer": answer,
        "item": dict(rollout.item.data),
        "trajectory": [dict(entry) for entry in rollout.trajectory],
        "workspace": workspace,
        "rollout": rollout,
    }


def called(
    function: Callable[..., object], names: Sequence[str], given: Mapping[str, object], optional: Sequence[str] = ()
) -> object:
    """Call a scoring function with what it asked for; what it takes by name only is given by name, and so is what it
    has a default for (`optional`)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    by_name = {p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return function(
        *[given[name] for name in names if name not in by_name],
        **{name: given[name] for name in (*names, *optional) if name in by_name or name in optional},
    )


async def _later(value: Awaitable[object]) -> JsonObject:
    return packed(await value)


def packed(value: object) -> JsonObject:
    """A returned value as JSON with its kind."""
    if isinstance(value, Scored):
        fields = asdict(value) if _is_json(asdict(value)) else plain(asdict(value))
        return {"scored": cast("JsonObject", fields)} if _is_json(fields) else {"repr": repr(value)}
    if isinstance(value, Missing):
        return {"missing": value.error}
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return {"tuple": [packed(part) for part in parts]}
    found = value if _is_json(value) else plain(value)
    return {"value": cast("JsonValue", found)} if _is_json(found) else {"repr": repr(value)}


def unpacked(answer: JsonObject) -> object:
    """The value that a function returned in its worker."""
    if "scored" in answer:
        fields = cast("Mapping[str, object]", answer["scored"])
        return Scored(**fields)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    if "missing" in answer:
        return Missing(str(answer["missing"]))
    if "tuple" in answer:
        return tuple(unpacked(part) for part in cast("Sequence[JsonObject]", answer["tuple"]))
    return answer["value"] if "value" in answer else Unusable(str(answer["repr"]))


def item_json(item: Item) -> JsonObject:
    """A rollout of which only the item matters."""
    return {"item": {"id": item.id, "data": dict(item.data), "task_type": item.task_type}}


def rollout_json(rollout: Rollout) -> JsonObject:
    """Everything a function can see of a rollout that is not scored yet."""
    return {
        **item_json(rollout.item),
        "skill_hash": rollout.skill_hash,
        "repeat": rollout.repeat,
        "trajectory": list(rollout.trajectory),
        "tokens": dict(rollout.tokens),
        "system_prompt": rollout.system_prompt,
        "user_prompt": rollout.user_prompt,
        "agent": dict(rollout.agent),
    }


def rollout_of(value: JsonObject) -> Rollout:
    """The rollout that was sent, its outcome pending."""
    item = Item(**cast("dict[str, str]", value["item"]))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return Rollout(
        item=item,
        skill_hash=str(value.get("skill_hash") or ""),
        outcome=Pending(),
        repeat=cast("int", value.get("repeat") or 0),
        trajectory=tuple(cast("Sequence[JsonObject]", value.get("trajectory") or ())),
        tokens=cast("Mapping[str, int | None]", value.get("tokens") or {}),
        system_prompt=str(value.get("system_prompt") or ""),
        user_prompt=str(value.get("user_prompt") or ""),
        agent=cast("JsonObject", value.get("agent") or {}),
    )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
