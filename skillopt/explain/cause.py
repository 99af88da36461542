"""What can put a line into a skill, with the evidence that stands behind it, made from a run's records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skillopt.core.editing.edit import Edit
from skillopt.core.json_types import JsonObject, JsonValue
from skillopt.explain.evidence import Alone, Support, edit_support, pair_support, step_support, trial_alone
from skillopt.records.codec import encode_record
from skillopt.records.factorial import EffectRecord
from skillopt.records.gate import GateRecord
from skillopt.records.reading import Run
from skillopt.records.step import StepRecord
from skillopt.records.vocabulary import Stage

Kind = Literal["initial", "edit", "rewrite", "appendix_note", "slow_update", "meta_reflect", "review", "unrecorded"]


@dataclass(frozen=True)
class Cause:
    """What put lines into the skill. `name` is unique in a run, `place` is its directory in the run. `gate` is None for
    the initial skill, which no gate let in, and where the records hold no verdict."""

    name: str
    kind: Kind
    label: str
    place: str
    step: int | None = None
    epoch: int | None = None
    edit: JsonObject | None = None
    support: tuple[Support, ...] = ()
    gate: GateRecord | None = None
    alone: Alone | None = None
    """The edit's own trial on training items, where single edits got credit."""
    effect: EffectRecord | None = None
    """What the line does by all rollouts of a factorial search."""

    def to_json(self) -> dict[str, JsonValue]:
        """For `--json`."""
        return {
            "kind": self.kind,
            "label": self.label,
            "place": self.place,
            "step": self.step,
            "epoch": self.epoch,
            "edit": self.edit,
            "support": [s.to_json() for s in self.support],
            "alone": self.alone.to_json() if self.alone is not None else None,
            "effect": encode_record(self.effect) if self.effect is not None else None,
            "gate": encode_record(self.gate) if self.gate is not None else None,
        }


INITIAL = Cause("initial", "initial", "initial skill", "skills/skill_v0000.md")


def edit_cause(run: Run, record: StepRecord, number: int, edit: Edit) -> Cause:
    """One applied edit of a step; `number` counts from 1 as in its report."""
    step = record.step
    return Cause(
        name=f"step_{step:04d}/edit_{number}",
        kind="edit",
        label=f"step {step}, edit {number} ({edit.op})",
        place=run.step_dir(step),
        step=step,
        epoch=record.epoch,
        edit={"index": number, **edit.to_json()},
        support=edit_support(run, step, edit),
        gate=record.gate,
        alone=trial_alone(run, step, edit),
    )


def line_cause(run: Run, record: StepRecord, row: EffectRecord, last: EffectRecord | None) -> Cause:
    """A line of a factorial search's draft, with what was believed of it at the end of the run."""
    edit = Edit.from_json(row.edit)
    return Cause(
        name=f"line_{row.line}",
        kind="edit",
        label=f"line {row.line} ({edit.op}), proposed in step {row.born}",
        place=run.step_dir(row.born),
        step=row.born,
        epoch=record.epoch,
        edit={"index": row.line, **edit.to_json()},
        support=edit_support(run, row.born, edit),
        gate=record.gate,
        effect=last or row,
    )


def step_cause(run: Run, record: StepRecord, kind: Kind) -> Cause:
    """What a step changed other than by edits: a rewrite, appendix notes, or something its views do not record."""
    step = record.step
    what = {"rewrite": "rewrite", "appendix_note": "appendix notes"}.get(kind, "a change that its views do not record")
    gate = record.gate
    if kind == "appendix_note" and record.notes is not None and record.notes.appendix.evaluated_n is not None:
        gate = record.notes.appendix  # notes have a gate of their own
    return Cause(
        name=f"step_{step:04d}/{kind}",
        kind=kind,
        label=f"step {step}, {what}",
        place=run.step_dir(step),
        step=step,
        epoch=record.epoch,
        support=step_support(run, step),
        gate=gate,
    )


def slow_update_cause(run: Run, epoch: int) -> Cause:
    """The slow update at the end of an epoch, its empty region in the first one included."""
    place = f"slow_update/epoch_{epoch:02d}"
    result = run.epoch_result(Stage.SLOW_UPDATE, epoch)
    return Cause(
        name=f"slow_update_epoch_{epoch:02d}",
        kind="slow_update",
        label=f"slow update of epoch {epoch}",
        place=place,
        epoch=epoch,
        support=pair_support(run, place),
        gate=result.gate if result is not None else None,
    )


def meta_reflect_cause(run: Run, epoch: int, number: int = 0, edit: Edit | None = None) -> Cause:
    """The meta reflection at the end of an epoch, or one edit of it. It is drawn from the epoch's records."""
    name, label = f"meta_reflect_epoch_{epoch:02d}", f"meta reflection of epoch {epoch}"
    if edit is not None:
        name, label = f"{name}/edit_{number}", f"{label}, edit {number} ({edit.op})"
    result = run.epoch_result(Stage.META_REFLECT, epoch)
    return Cause(
        name=name,
        kind="meta_reflect",
        label=label,
        place=f"meta_reflect/epoch_{epoch:02d}",
        epoch=epoch,
        edit={"index": number, **edit.to_json()} if edit is not None else None,
        gate=result.gate if result is not None else None,
    )
