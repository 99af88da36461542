"""One document's part of a night: its edits from reflection or from an open proposal, the screen, the trial.

A proposal that could be neither proven nor turned down keeps its samples in the ledger. While the documents and the
models stay the same, the next night goes on with it, with new samples and the next look's level, instead of asking for
new edits: a rule may be proven on its third night.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_number, as_object, as_text
from skillopt.core.outcome import Missing
from skillopt.sleep.night.inputs import NightInputs
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import Dropped, RuleEdit, checked_edits
from skillopt.sleep.proposal.screen import screened
from skillopt.sleep.proposal.targets import Kind, Target
from skillopt.sleep.reflect import Lesson, Material, reflect
from skillopt.sleep.scoring.replay import Documents, Replayer, Reply
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.staging.manifest import edit_json, edit_of
from skillopt.sleep.state.rule_ledger import RuleLedger
from skillopt.sleep.trial.decision import Look, LookVerdict, Sample, TaskPair, Terms, confirmation, look_at, merged

Verdict = Literal["accepted", "rejected", "undecided", "unproven", "nothing_to_do"]
Both = tuple[list[Reply], list[Reply]]
Replies = Mapping[str, Both]
_OUTCOMES: Mapping[LookVerdict, Verdict] = {
    "accept": "accepted", "reject": "rejected", "unproven": "unproven", "open": "undecided", "undecided": "undecided",
}  # fmt: skip
_FIRST: Mapping[Kind, int] = {"skill": 0, "memory": 1_000}
_CONFIRM = 500
"""Indices of samples: each trial and each confirmation has its own."""


@dataclass(frozen=True)
class KindResult:
    """What became of one document's proposal."""

    kind: Kind
    verdict: Verdict
    reason: str
    edits: tuple[RuleEdit, ...] = ()
    marked: tuple[RuleEdit, ...] = ()
    """Edits that meet the content screen: offered apart, never tried."""
    dropped: tuple[Dropped, ...] = ()
    looks: tuple[Look, ...] = ()
    confirmed: Look | None = None
    replies: Replies = field(default_factory=dict[str, tuple[list[Reply], list[Reply]]])
    pairs: tuple[TaskPair, ...] = ()
    proposal: str = ""
    """Identity of the proposal in the ledger."""
    looked: int = 0
    """Looks at it so far, over all nights."""
    nights: tuple[str, ...] = ()

    @property
    def shown(self) -> Look | None:
        """The look whose effect is reported: the confirmation's, else the last."""
        return self.confirmed or (self.looks[-1] if self.looks else None)


@dataclass(frozen=True)
class Bench:
    """What a trial works with."""

    inputs: NightInputs
    settings: Settings
    replayer: Replayer
    ledger: RuleLedger
    terms: Terms
    model_key: str


async def try_kind(bench: Bench, kind: Kind, documents: Documents, lessons: Sequence[Lesson]) -> KindResult:
    """Reflect on one document, screen, try, confirm."""
    target = bench.inputs.primary(kind)
    if target is None:
        return KindResult(kind, "nothing_to_do", f"there is no {kind} target")
    before = documents.skill if kind == "skill" else documents.memory
    going_on = _open_proposal(bench, kind, documents)
    if going_on is not None:
        edits, dropped = list(going_on.edits), []
    else:
        proposed = await _reflected(bench, kind, target, before, lessons)
        if isinstance(proposed, Missing):
            return KindResult(kind, "undecided", f"reflection gave nothing: {proposed.error}")
        edits, dropped = proposed
    marked = tuple(edit for edit in edits if edit.screen)
    clean = [edit for edit in edits if not edit.screen]
    result = KindResult(kind, "nothing_to_do", "no edits were proposed", (), marked, tuple(dropped))
    if not clean:
        return replace(result, verdict="unproven", reason="every edit meets the content screen") if marked else result
    document = Document(before.encode("utf-8", "surrogatepass"), target.name)
    after, applied, unmatched = document.edited(clean, bench.ledger.in_force(target.name))
    result = replace(result, edits=tuple(applied), dropped=(*dropped, *unmatched))
    if after.data == document.data:
        return replace(result, reason="the edits change nothing")
    settings = bench.settings
    if after.block_size() > settings.max_block_chars:
        return replace(result, verdict="rejected", reason=f"the block would pass {settings.max_block_chars} characters")
    text = after.data.decode("utf-8", "replace")
    changed = replace(documents, skill=text) if kind == "skill" else replace(documents, memory=text)
    return await _tried(bench, result, documents, changed, going_on)


async def _reflected(
    bench: Bench, kind: Kind, target: Target, document: str, lessons: Sequence[Lesson]
) -> tuple[list[RuleEdit], list[Dropped]] | Missing:
    settings, ledger = bench.settings, bench.ledger
    in_force = ledger.in_force(target.name)
    turned_down = {rule.text: rule.reason for rule in ledger.rules() if rule.state == "rejected"}
    material = Material(
        kind, document, in_force, turned_down, settings.preferences, settings.edit_budget, settings.max_rule_chars
    )
    found = await reflect(bench.replayer.calls, bench.replayer.prompts, lessons, material, phase=f"reflect:{kind}")
    if isinstance(found, Missing):
        return found
    pruned = [
        RuleEdit("delete", rule_id=rule.id, why=why)
        for rule in ledger.rules(target.name)
        if rule.state == "in_force" and (why := rule.prunable(ledger.nights_after(rule.night)))
    ]
    edits, dropped = checked_edits(
        [*pruned, *found],
        in_force=in_force,
        rejected=ledger.rejected(),
        budget=settings.edit_budget,
        max_chars=settings.max_rule_chars,
    )
    room = settings.max_rules - len(in_force)
    adds = [edit for edit in edits if edit.op == "add"]
    full = adds[max(0, room) :]
    dropped += [Dropped(edit, f"the document holds {settings.max_rules} rules already") for edit in full]
    return [_screened(bench, edit) for edit in edits if edit not in full], dropped


def _screened(bench: Bench, edit: RuleEdit) -> RuleEdit:
    if edit.op == "delete":
        return edit
    return replace(
        edit, screen=screened(edit.text, project=Path(bench.inputs.project), tool_runs=bench.inputs.tool_runs)
    )


async def _tried(
    bench: Bench, result: KindResult, before: Documents, after: Documents, going_on: OpenProposal | None
) -> KindResult:
    settings, held_out = bench.settings, bench.inputs.of_split("val")
    identity = _identity(bench, result.kind, before)
    proposal = digest([identity, [edit_json(edit) for edit in result.edits]])[:16]
    nights = (*(going_on.nights if going_on else ()), bench.inputs.night)
    result = replace(result, proposal=proposal, nights=nights, looked=going_on.looked if going_on else 0)
    if settings.gate_mode == "off":
        return replace(result, verdict="unproven", reason="the gate is off: nothing was tried")
    if not held_out:
        return replace(result, verdict="unproven", reason="no held-out task can be replayed")
    first, phase = _FIRST[result.kind], f"trial:{result.kind}"
    pairs: list[TaskPair] = list(going_on.pairs) if going_on else []
    taken = 0
    look: Look | None = None
    for count in (settings.gate_repeats, settings.gate_max_repeats - settings.gate_repeats):
        if count <= 0:
            break
        new, replies = await bench.replayer.pairs(
            held_out, before, after, phase=phase, first=first + taken, count=count
        )
        taken += count
        pairs = merged(pairs, new)
        both = {name: _joined(result.replies.get(name), pair) for name, pair in replies.items()}
        look = look_at(pairs, bench.terms, number=result.looked + 1)
        looked = result.looked + (look.verdict not in ("unproven", "undecided"))
        result = replace(result, looks=(*result.looks, look), looked=looked, replies=both, pairs=tuple(pairs))
        if look.verdict != "open":
            break
    if look is None:
        return result
    if look.verdict != "accept":
        return replace(result, verdict=_OUTCOMES[look.verdict], reason=look.reason)
    fresh, _ = await bench.replayer.pairs(
        held_out, before, after, phase="confirm", first=first + _CONFIRM, count=settings.gate_repeats
    )
    confirmed = confirmation(fresh, bench.terms)
    return replace(result, verdict=_OUTCOMES[confirmed.verdict], reason=confirmed.reason, confirmed=confirmed)


def _joined(old: Both | None, new: Both) -> Both:
    return new if old is None else (old[0] + new[0], old[1] + new[1])


@dataclass(frozen=True)
class OpenProposal:
    """A proposal of an earlier night with its samples."""

    edits: tuple[RuleEdit, ...]
    pairs: tuple[TaskPair, ...]
    looked: int
    nights: tuple[str, ...]


def _identity(bench: Bench, kind: Kind, documents: Documents) -> str:
    return digest([kind, documents.skill, documents.memory, bench.model_key, bench.replayer.prompts.hash])[:32]


def _open_proposal(bench: Bench, kind: Kind, documents: Documents) -> OpenProposal | None:
    """The proposal to go on with: same documents, same models, none of its rules turned down meanwhile."""
    identity = _identity(bench, kind, documents)
    rejected = bench.ledger.rejected()
    for row in bench.ledger.open_proposals().values():
        nights = tuple(as_text(n) for n in as_array(row.get("nights")))
        if row.get("identity") != identity or bench.inputs.night in nights:
            continue
        edits = tuple(edit_of(value) for value in as_array(row.get("edits")))
        if not any(edit.id in rejected for edit in edits):
            pairs = tuple(_pair(as_object(value)) for value in as_array(row.get("pairs")))
            return OpenProposal(edits, pairs, int(as_number(row.get("looked")) or 0), nights)
    return None


def open_row(bench: Bench, result: KindResult, documents: Documents) -> JsonObject:
    """What the ledger keeps of a proposal that is still open."""
    return {
        "identity": _identity(bench, result.kind, documents),
        "kind": result.kind,
        "edits": [edit_json(edit) for edit in result.edits],
        "looked": result.looked,
        "nights": list(result.nights),
        "pairs": [
            {"task": p.task_id, "incumbent": _samples(p.incumbent), "candidate": _samples(p.candidate)}
            for p in result.pairs
        ],
    }


def _samples(samples: Sequence[Sample]) -> list[JsonValue]:
    return [[s.value, s.passed] for s in samples]


def _pair(entry: Mapping[str, JsonValue]) -> TaskPair:
    def side(name: str) -> tuple[Sample, ...]:
        rows = [as_array(row) for row in as_array(entry.get(name))]
        return tuple(Sample(as_number(row[0]), row[1] is True) for row in rows if len(row) == 2)

    return TaskPair(as_text(entry.get("task")), side("incumbent"), side("candidate"))
