"""Vetoed edits on their way into records: each with the reason that was, be it a copied text or an error of form."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.core.json_types import JsonValue
from skillopt.core.leakage import Leak, VetoedEdit
from skillopt.records.codec import encode_record
from skillopt.records.schema import VetoRecord
from skillopt.records.vocabulary import Veto


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


def veto_fields(vetoed: Sequence[VetoedEdit]) -> dict[str, JsonValue]:
    """The list in a step record, left out when it is empty."""
    return {"vetoed": [encode_record(row) for row in veto_records(vetoed)]} if vetoed else {}


def veto_rows(vetoed: Sequence[VetoedEdit]) -> list[JsonValue]:
    """`vetoed.json`: the rows of the record with every leak and finding."""
    return [
        {**encode_record(row), "leaks": [leak.to_json() for leak in each.leaks]}
        for row, each in zip(veto_records(vetoed), vetoed, strict=True)
    ]
