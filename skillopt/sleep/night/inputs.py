"""What a night begins with, pinned before the first paid call: resuming it meets the same tasks and the same bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, as_text, parse_json
from skillopt.sleep.errors import StateError
from skillopt.sleep.proposal.targets import Kind, Target
from skillopt.sleep.state.private import write_text
from skillopt.sleep.task import TaskRecord, record_of


@dataclass(frozen=True)
class NightInputs:
    """The tasks with their splits, the target documents with their bytes, and what the report says of the sessions."""

    night: str
    project: str
    tasks: tuple[TaskRecord, ...]
    targets: tuple[Target, ...]
    bases: Mapping[str, bytes | None]
    """Live bytes by target name."""
    supports: Mapping[str, int] = field(default_factory=dict[str, int])
    """Distinct sessions by cluster."""
    tool_runs: frozenset[int] = frozenset()
    facts: JsonObject = field(default_factory=dict[str, JsonValue])
    """Sessions by source and class, tasks dropped and why: for the report."""
    surveyed_at: float | None = None
    """When the sessions were read in (UTC epoch); None for the tasks of a file."""
    left_out: tuple[str, ...] = ()
    """Clusters that the night's limits left for the next one."""

    def primary(self, kind: Kind) -> Target | None:
        """The target on which rules of a kind are measured: that of the host with most sessions."""
        return next((t for t in self.targets if t.kind == kind), None)

    def mirrors(self, kind: Kind) -> list[Target]:
        """The other targets of a kind, which get the same rules."""
        return [t for t in self.targets if t.kind == kind][1:]

    def of_split(self, split: str) -> list[TaskRecord]:
        """The tasks that are replayed, of one split."""
        return [t for t in self.tasks if t.split == split and t.tier == "text" and t.reference_kind != "none"]

    @property
    def unscored(self) -> list[TaskRecord]:
        """Tasks that no replay can score here."""
        return [t for t in self.tasks if t.tier != "text" or t.reference_kind == "none"]


def pin(path: Path, inputs: NightInputs) -> None:
    """Write the inputs down."""
    value: JsonObject = {
        "night": inputs.night,
        "project": inputs.project,
        "tasks": [cast("JsonObject", asdict(task)) for task in inputs.tasks],
        "targets": [
            {"name": t.name, "kind": t.kind, "live": str(t.live), "real": str(t.real), "hosts": list(t.hosts),
             "note": t.note} for t in inputs.targets
        ],
        "bases": {name: None if data is None else base64.b64encode(data).decode() for name, data in
                  inputs.bases.items()},
        "supports": dict(inputs.supports),
        "tool_runs": sorted(inputs.tool_runs),
        "facts": inputs.facts,
        "surveyed_at": inputs.surveyed_at,
        "left_out": list(inputs.left_out),
    }  # fmt: skip
    write_text(path, json.dumps(value, ensure_ascii=False) + "\n")


def pinned(path: Path) -> NightInputs | None:
    """The inputs of a night that was begun; None where there are none. Raises `StateError`."""
    try:
        value = as_object(parse_json(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        raise StateError(f"{path}: cannot be read ({fault})", hint="begin another night with run --new") from fault
    bases = as_object(value.get("bases"))
    return NightInputs(
        night=as_text(value.get("night")),
        project=as_text(value.get("project")),
        tasks=tuple(record_of(as_object(task)) for task in as_array(value.get("tasks"))),
        targets=tuple(_target(as_object(target)) for target in as_array(value.get("targets"))),
        bases={name: None if text is None else base64.b64decode(as_text(text)) for name, text in bases.items()},
        supports={name: int(as_number(n) or 0) for name, n in as_object(value.get("supports")).items()},
        tool_runs=frozenset(int(as_number(run) or 0) for run in as_array(value.get("tool_runs"))),
        facts=as_object(value.get("facts")),
        surveyed_at=as_number(value.get("surveyed_at")),
        left_out=_texts(value.get("left_out")),
    )


def _target(entry: Mapping[str, JsonValue]) -> Target:
    return Target(
        name=as_text(entry.get("name")),
        kind="skill" if entry.get("kind") == "skill" else "memory",
        live=Path(as_text(entry.get("live"))),
        real=Path(as_text(entry.get("real"))),
        hosts=_texts(entry.get("hosts")),
        note=as_text(entry.get("note")),
    )


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(as_text(part) for part in as_array(value))


def text_of(data: bytes | None) -> str:
    """A document's bytes as a prompt shows them."""
    return (data or b"").decode("utf-8", "replace")


def held_out_texts(tasks: Sequence[TaskRecord]) -> list[str]:
    """Texts that no optimizer prompt may hold."""
    return [
        text for t in tasks if t.split in ("val", "test") for text in (t.intent, t.bad_answer, t.good_answer) if text
    ]
