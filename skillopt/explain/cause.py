"""What can put a line into a skill, with the evidence that stands behind it, made from a run's views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skillopt.core.edit import Edit
from skillopt.explain.evidence import Gate, Support, edit_support, gate_of, pair_support, step_support, trial_alone
from skillopt.records.reading import RunViews, as_mapping

Kind = Literal["initial", "edit", "rewrite", "appendix_note", "slow_update", "meta_reflect", "unrecorded"]


@dataclass(frozen=True)
class Cause:
    """What put lines into the skill. `name` is unique in a run, `place` is its directory in the run. `gate` is None for
    the initial skill, which no gate let in, and where the views hold no verdict."""

    name: str
    kind: Kind
    label: str
    place: str
    step: int | None = None
    epoch: int | None = None
    edit: Mapping[str, Any] = field(default_factory=dict[str, Any])
    support: tuple[Support, ...] = ()
    gate: Gate | None = None
    alone: Mapping[str, Any] | None = None
    """The edit's own trial on training items, where single edits got credit."""

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "kind": self.kind,
            "label": self.label,
            "place": self.place,
            "step": self.step,
            "epoch": self.epoch,
            "edit": dict(self.edit) or None,
            "support": [s.to_json() for s in self.support],
            "alone": dict(self.alone) if self.alone is not None else None,
            "gate": dict(self.gate) if self.gate is not None else None,
        }


INITIAL = Cause("initial", "initial", "initial skill", "skills/skill_v0000.md")


def edit_cause(views: RunViews, record: Mapping[str, Any], number: int, edit: Edit) -> Cause:
    """One applied edit of a step; `number` counts from 1 as in its report."""
    step = int(record["step"])
    return Cause(
        name=f"step_{step:04d}/edit_{number}",
        kind="edit",
        label=f"step {step}, edit {number} ({edit.op})",
        place=views.step_dir(step),
        step=step,
        epoch=_epoch(record),
        edit={"index": number, **edit.to_json()},
        support=edit_support(views, step, edit),
        gate=gate_of(record),
        alone=trial_alone(views, step, edit),
    )


def step_cause(views: RunViews, record: Mapping[str, Any], kind: Kind) -> Cause:
    """What a step changed other than by edits: a rewrite, appendix notes, or something its views do not record."""
    step = int(record["step"])
    base = views.step_dir(step)
    what = {"rewrite": "rewrite", "appendix_note": "appendix notes"}.get(kind, "a change that its views do not record")
    notes = as_mapping(record.get("appendix")) if kind == "appendix_note" else {}  # they have a gate of their own
    gate = gate_of(notes) or gate_of(record)
    return Cause(
        name=f"step_{step:04d}/{kind}",
        kind=kind,
        label=f"step {step}, {what}",
        place=base,
        step=step,
        epoch=_epoch(record),
        support=step_support(views, step),
        gate=gate,
    )


def slow_update_cause(views: RunViews, epoch: int) -> Cause:
    """The slow update at the end of an epoch, its empty region in the first one included."""
    place = f"slow_update/epoch_{epoch:02d}"
    return Cause(
        name=f"slow_update_epoch_{epoch:02d}",
        kind="slow_update",
        label=f"slow update of epoch {epoch}",
        place=place,
        epoch=epoch,
        support=pair_support(views, place),
        gate=gate_of(views.mapping(f"{place}/slow_result.json")),
    )


def meta_reflect_cause(views: RunViews, epoch: int, number: int = 0, edit: Edit | None = None) -> Cause:
    """The meta reflection at the end of an epoch, or one edit of it. It is drawn from the epoch's records."""
    place = f"meta_reflect/epoch_{epoch:02d}"
    name, label = f"meta_reflect_epoch_{epoch:02d}", f"meta reflection of epoch {epoch}"
    if edit is not None:
        name, label = f"{name}/edit_{number}", f"{label}, edit {number} ({edit.op})"
    return Cause(
        name=name,
        kind="meta_reflect",
        label=label,
        place=place,
        epoch=epoch,
        edit={"index": number, **edit.to_json()} if edit is not None else {},
        gate=gate_of(views.mapping(f"{place}/meta_result.json")),
    )


def _epoch(record: Mapping[str, Any]) -> int | None:
    epoch = record.get("epoch")
    return epoch if isinstance(epoch, int) else None
