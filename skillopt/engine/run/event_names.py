"""Events that are still emitted by name and fields, made into their classes. Emit the class where you can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from skillopt.core.json_types import JsonObject, as_array, as_object
from skillopt.records.codec import decode
from skillopt.records.events import EVENTS, Event

Fields = Mapping[str, object]

_STAGES = {"evaluate": "gate", "step": "gate", "last_look": "final_selection"}
_COUNTS = ("patches", "merged", "ranked", "budget", "kept", "total", "applied", "skipped", "errors")


def event_of(name: str, data: Fields) -> Event:
    """The event. Raises what a wrong field raises: that is a fault of the program."""
    raw = cast("JsonObject", _SHAPES.get(name, dict)(data))
    return decode(EVENTS[name], raw, name)


def _stage(data: Fields) -> dict[str, object]:
    stage = str(data.get("stage") or "gate")
    return {**data, "stage": _STAGES.get(stage, stage)}


def _stage_start(data: Fields) -> dict[str, object]:
    return {**_stage(data), "label": data.get("split") or ""}


def _stage_end(data: Fields) -> dict[str, object]:
    body = _stage(data)
    if "hard" in data:
        body["score"] = {
            "hard": data.get("hard"), "soft": data.get("soft"), "n": data.get("n", data.get("scored")),
            "total": data.get("total"),
        }  # fmt: skip
    counts = {k: v for k, v in data.items() if k in _COUNTS and isinstance(v, int)}
    if "runners" in data:
        counts["runners"] = len(as_array(data["runners"]))
    return {**body, "counts": counts}


def _run_start(data: Fields) -> dict[str, object]:
    roles = [{k: v or "" for k, v in as_object(role).items()} for role in as_array(data.get("roles"))]
    return {**data, "roles": roles}


def _step_end(data: Fields) -> dict[str, object]:
    record = as_object(data["record"])
    rate = {"noun": data.get("noun"), "lr": data.get("lr"), "scheduler": data.get("lr_scheduler"),
            "unrounded": data.get("budget_unrounded")}  # fmt: skip
    return {**data, "step": record["step"], "record": record, "rate": {k: v for k, v in rate.items() if v is not None}}


def _epoch_result(data: Fields) -> dict[str, object]:
    return {"record": data}


_SHAPES: Mapping[str, Callable[[Fields], Fields]] = {
    "run.start": _run_start,
    "stage.start": _stage_start,
    "stage.progress": _stage,
    "stage.end": _stage_end,
    "gate.verdict": _stage,
    "step.end": _step_end,
    "epoch.result": _epoch_result,
}
