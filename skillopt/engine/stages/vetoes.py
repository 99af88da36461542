"""Vetoed edits on their way into records: each with the reason that was, be it a copied text or an error of form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillopt.core.json_types import JsonValue
from skillopt.core.leakage import Leak, VetoedEdit
from skillopt.records.codec import encode_record
from skillopt.records.schema import VetoRecord
from skillopt.records.vocabulary import Veto

if TYPE_CHECKING:
    from skillopt.engine.stages.result import Built


def veto_record(vetoed: VetoedEdit) -> VetoRecord:
    """What a record says of it. An edit that copied something and was faulty besides counts as a copy."""
    copied = [leak for leak in vetoed.leaks if isinstance(leak, Leak)]
    said = [*copied, *vetoed.leaks]
    return VetoRecord(
        index=vetoed.index,
        op=vetoed.edit.op,
        reason=Veto.LEAK if copied else Veto.FORM if said else Veto.UNKNOWN,
        says=str(said[0]) if said else "",
    )


def veto_records(vetoed: Sequence[VetoedEdit]) -> tuple[VetoRecord, ...]:
    """All of them."""
    return tuple(map(veto_record, vetoed))


def dropped_edits(built: Built) -> list[VetoRecord]:
    """What was proposed in a step and is no part of its candidate: vetoed, or without a place in the text."""
    statuses = built.proposal.report.statuses if built.proposal is not None else ()
    unplaced = [
        VetoRecord(index=s.index, op=s.edit.op, reason=Veto.NO_PLACE, says=f"{s.status}: {s.note}".rstrip(": "))
        for s in statuses
        if not s.applied
    ]
    return [*veto_records(built.vetoed), *unplaced]


def veto_rows(vetoed: Sequence[VetoedEdit]) -> list[JsonValue]:
    """`vetoed.json`: the rows of the record with every leak and finding."""
    return [
        {**encode_record(row), "leaks": [leak.to_json() for leak in each.leaks]}
        for row, each in zip(veto_records(vetoed), vetoed, strict=True)
    ]
