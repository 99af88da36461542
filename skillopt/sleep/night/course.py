"""A night from its inputs to its result, in the order of the specification; every paid call is in its journal.

Nothing is written but the journal and the evidence; what the ledger learns is handed to `remember` once the night is
staged, so that a night that was killed anywhere runs again to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from skillopt.core.json_types import JsonValue
from skillopt.sleep.calls import all_of
from skillopt.sleep.night.inputs import NightInputs, text_of
from skillopt.sleep.night.trials import Bench, KindResult, Verdict, open_row, try_kind
from skillopt.sleep.proposal.document import Document
from skillopt.sleep.proposal.rules import Rule, RuleEdit, successor
from skillopt.sleep.proposal.targets import Kind
from skillopt.sleep.reflect import Lesson
from skillopt.sleep.scoring.replay import Documents, Reply
from skillopt.sleep.staging.manifest import edit_json
from skillopt.sleep.state.evidence import EvidenceLog

_TRAIN, _HEADROOM, _TEST = 0, 2_000, 3_000


@dataclass(frozen=True)
class NightResult:
    """What a night came to. `documents` are those it ended with, the accepted edits in them."""

    inputs: NightInputs
    verdict: Verdict
    reason: str
    kinds: tuple[KindResult, ...]
    lessons: tuple[Lesson, ...]
    headroom: dict[str, list[Reply]]
    before: Documents
    documents: Documents
    sealed: tuple[float | None, float | None] | None = None
    """Mean score on the test split before and after; it decides nothing."""


async def hold(bench: Bench, evidence: EvidenceLog, say: Callable[[str], None]) -> NightResult:
    """Hold a night. Raises `Stopped`, `HandoffPending`, `BackendError`; running again goes on."""
    inputs, settings = bench.inputs, bench.settings
    documents = _live(inputs)
    evidence.write("cycle", "start", night=inputs.night, tasks=len(inputs.tasks))
    train, held_out = inputs.of_split("train"), inputs.of_split("val")
    say(f"the incumbent on {len(train)} train and {len(held_out)} held-out tasks")
    rollouts = max(1, settings.dream_rollouts)
    replies, headroom = await all_of(
        [
            bench.replayer.samples(train, documents, phase="train", first=_TRAIN, count=rollouts),
            bench.replayer.samples(held_out, documents, phase="baseline", first=_HEADROOM, count=1),
        ]
    )
    lessons = _lessons(inputs, replies)
    result = NightResult(inputs, "nothing_to_do", "", (), tuple(lessons), headroom, documents, documents)
    if not any(lesson.failed for lesson in lessons):
        reason = "no train task fails" if lessons else _nothing_to_replay(inputs)
        return replace(result, reason=reason)
    kinds: list[KindResult] = []
    for kind in _kinds(bench):
        say(f"what the {kind} could say")
        found = await try_kind(bench, kind, documents, lessons)
        evidence.write("gate", "verdict", **_verdict_facts(found))
        kinds.append(found)
        if found.verdict == "accepted":
            documents = _with(documents, kind, bench, found)
            again = await bench.replayer.samples(
                train, documents, phase=f"train_post_{kind}", first=_TRAIN, count=max(1, settings.dream_rollouts)
            )
            lessons = _lessons(inputs, again)
    verdict = _overall(kinds)
    reason = "; ".join(f"{k.kind}: {k.reason}" for k in kinds)
    result = replace(result, verdict=verdict, reason=reason, kinds=tuple(kinds), documents=documents)
    if inputs.of_split("test"):
        result = replace(result, sealed=await _sealed(bench, result))
    evidence.write("cycle", "end", verdict=verdict, reason=reason)
    return result


def _nothing_to_replay(inputs: NightInputs) -> str:
    without = sum(task.reference_kind == "none" for task in inputs.tasks)
    elsewhere = sum(task.reference_kind != "none" and task.tier != "text" for task in inputs.tasks)
    parts = [f"{without} have no check that a reply can be scored by"] if without else []
    parts += [f"{elsewhere} need tools or files"] if elsewhere else []
    told = f": of {len(inputs.tasks)} tasks {' and '.join(parts)}" if parts else ""
    return f"there is no train task that can be replayed{told}"


def remember(bench: Bench, result: NightResult) -> None:
    """What the ledger keeps of a night. Running it again changes nothing."""
    ledger, night = bench.ledger, result.inputs.night
    documents = result.before
    _measure(bench, result)
    for found in result.kinds:
        target = result.inputs.primary(found.kind)
        if target is None:
            continue
        if found.verdict in ("undecided", "unproven") and found.pairs:
            older = [key for key, row in ledger.open_proposals().items() if row.get("kind") == found.kind]
            ledger.close_proposals([key for key in older if key != found.proposal])
            ledger.put_open(found.proposal, open_row(bench, found, documents))
        elif found.proposal:
            ledger.close_proposals([found.proposal])
        for edit in found.edits:
            known = ledger.get(target.name, edit.id)
            if edit.op != "delete" and (known is None or known.state in ("proposed", "removed")):
                ledger.put(_tried(bench, found, edit, target.name, night))
        if found.verdict == "accepted":
            documents = _with(documents, found.kind, bench, found)


def _tried(bench: Bench, found: KindResult, edit: RuleEdit, target: str, night: str) -> Rule:
    """A rule with what its trial showed so far, over all nights that went on with it."""
    rule = Rule(edit.id, edit.text, target, night, edit.evidence)
    old = bench.ledger.get(target, edit.rule_id) if edit.op == "replace" else None
    if old is not None:
        rule = successor(old, edit.text, night=night, evidence=edit.evidence)
    differences = found.shown.differences.values() if found.shown else ()
    turned_down = found.verdict == "rejected"
    return replace(
        rule,
        wins=rule.wins + sum(d > 0 for d in differences),
        losses=rule.losses + sum(d < 0 for d in differences),
        last_measured=night,
        measured_on=bench.model_key,
        expiry=bench.settings.rule_expiry_nights,
        state="rejected" if turned_down else "proposed",
        reason=found.reason if turned_down else "",
    )


def _measure(bench: Bench, result: NightResult) -> None:
    """The record of each rule in force: a win or a loss for every request it was learned from that was replayed."""
    night = result.inputs.night
    for target in result.inputs.targets:
        for rule in bench.ledger.rules(target.name):
            asked = [lesson for lesson in result.lessons if lesson.task.id in rule.evidence and lesson.scored]
            if rule.state != "in_force" or rule.last_measured == night or not asked:
                continue
            if target != result.inputs.primary(target.kind):
                continue
            losses = sum(lesson.failed for lesson in asked)
            bench.ledger.put(
                replace(rule, wins=rule.wins + len(asked) - losses, losses=rule.losses + losses,
                        last_measured=night, measured_on=bench.model_key)
            )  # fmt: skip


def _kinds(bench: Bench) -> list[Kind]:
    wanted: list[tuple[Kind, bool]] = [
        ("skill", bench.settings.evolve_skill), ("memory", bench.settings.evolve_memory)
    ]  # fmt: skip
    return [kind for kind, on in wanted if on and bench.inputs.primary(kind) is not None]


def trials_of(inputs: NightInputs, *, skill: bool, memory: bool) -> int:
    """How many trials share a night's alpha."""
    return max(1, (skill and inputs.primary("skill") is not None) + (memory and inputs.primary("memory") is not None))


def _live(inputs: NightInputs) -> Documents:
    def text(kind: Kind) -> str:
        target = inputs.primary(kind)
        return "" if target is None else text_of(inputs.bases.get(target.name))

    return Documents(text("skill"), text("memory"))


def _with(documents: Documents, kind: Kind, bench: Bench, found: KindResult) -> Documents:
    target = bench.inputs.primary(kind)
    text = documents.skill if kind == "skill" else documents.memory
    name = target.name if target is not None else kind
    made, _, _ = Document(text.encode("utf-8", "surrogatepass"), name).edited(found.edits, bench.ledger.in_force(name))
    new = made.data.decode("utf-8", "replace")
    return replace(documents, skill=new) if kind == "skill" else replace(documents, memory=new)


def _lessons(inputs: NightInputs, replies: dict[str, list[Reply]]) -> list[Lesson]:
    return [
        Lesson(task, tuple(replies[task.id]), inputs.supports.get(task.cluster_id, 1))
        for task in inputs.of_split("train")
    ]


def _overall(kinds: Sequence[KindResult]) -> Verdict:
    verdicts = {found.verdict for found in kinds}
    order: tuple[Verdict, ...] = ("accepted", "unproven", "undecided", "rejected")
    found: list[Verdict] = [verdict for verdict in order if verdict in verdicts]
    return found[0] if found else "nothing_to_do"


async def _sealed(bench: Bench, result: NightResult) -> tuple[float | None, float | None]:
    means: list[float | None] = []
    for side in (result.before, result.documents):
        replies = await bench.replayer.samples(bench.inputs.of_split("test"), side, phase="test", first=_TEST, count=1)
        means.append(bench.replayer.metric.mean([r.outcome for found in replies.values() for r in found]))
    return means[0], means[1]


def _verdict_facts(found: KindResult) -> dict[str, JsonValue]:
    shown = found.shown
    return {
        "kind": found.kind,
        "verdict": found.verdict,
        "reason": found.reason,
        "edits": [edit_json(edit) for edit in (*found.edits, *found.marked)],
        "p": shown.p if shown else None,
        "effect": shown.effect if shown else None,
        "n": shown.n if shown else 0,
        "level": shown.level if shown else None,
        "differences": dict(shown.differences) if shown else {},
    }
