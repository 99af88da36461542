"""Opening and closing a night: lock, pinned inputs, journal, caps, models; then staging, ledger, history.

Running again is resuming: a night that has inputs and no result goes on from its journal. Whatever ends it (a cap, the
breaker, a question that waits for an answer, a kill), nothing that was paid is lost.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.core.errors import RunDirError
from skillopt.core.hashing import text_digest
from skillopt.core.json_types import JsonValue, as_object, as_text
from skillopt.gate.metric import Metric
from skillopt.sleep.backends.base import Backend
from skillopt.sleep.backends.handoff import Handoff
from skillopt.sleep.calls import Calls, Role, spent_of
from skillopt.sleep.errors import HandoffPending, Locked
from skillopt.sleep.meter import Caps, Meter
from skillopt.sleep.night.course import NightResult, hold, remember, trials_of
from skillopt.sleep.night.diagnostics import diagnostics_of, tell
from skillopt.sleep.night.inputs import NightInputs, pinned
from skillopt.sleep.night.report import facts_of, report_of
from skillopt.sleep.night.trials import Bench
from skillopt.sleep.prompts import Prompts
from skillopt.sleep.proposal.document import front_matter
from skillopt.sleep.proposal.rules import RuleEdit
from skillopt.sleep.proposal.targets import Target
from skillopt.sleep.redact import clean
from skillopt.sleep.scoring.judge import Judging
from skillopt.sleep.scoring.replay import Replayer
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.staging.manifest import Manifest
from skillopt.sleep.staging.stage import Proposal, stage
from skillopt.sleep.state.evidence import EvidenceLog
from skillopt.sleep.state.paths import StatePaths, is_night_id
from skillopt.sleep.state.private import make_file, write_text
from skillopt.sleep.state.rule_ledger import RuleLedger
from skillopt.sleep.trial.decision import Terms
from skillopt.sleep.trial.power import Power, power_of
from skillopt.store.journal import Journal
from skillopt.store.lock import LOCK_NAME, RunLock

INPUTS = "inputs.json"


@dataclass(frozen=True)
class Night:
    """A finished night as the command line shows it."""

    result: NightResult
    facts: dict[str, JsonValue]
    directory: Path
    """Where it is staged."""
    live_calls: Mapping[str, int]
    """Calls this process really made, by phase."""


def locked(paths: StatePaths) -> RunLock:
    """The right to hold a night for this project. Raises `Locked` saying who has it."""
    paths.make_home()
    make_file(paths.home / LOCK_NAME)
    try:
        return RunLock(paths.home)
    except RunDirError as fault:
        raise Locked(f"another run holds this project: {fault.message}", hint="wait until it ends") from fault


def begun(paths: StatePaths) -> NightInputs | None:
    """The inputs of the night that waits to be continued; None where there is none."""
    name = unfinished(paths)
    return pinned(paths.night(name).root / INPUTS) if name else None


def power_for(settings: Settings, inputs: NightInputs) -> Power:
    """What the held-out tasks of a night can show."""
    return power_of(
        len(inputs.of_split("val")),
        repeats=settings.gate_repeats,
        max_repeats=settings.gate_max_repeats,
        level=_level(settings, inputs),
    )


def _level(settings: Settings, inputs: NightInputs) -> float:
    return settings.gate_alpha / trials_of(inputs, skill=settings.evolve_skill, memory=settings.evolve_memory)


def unfinished(paths: StatePaths) -> str:
    """The id of the newest night that was begun and has no result; blank for none."""
    return max(_without_result(paths), default="")


def abandon(paths: StatePaths, *, but: str) -> None:
    """Beginning a night abandons those that were not finished: none of them comes back after it. The lock is held."""
    for name in _without_result(paths):
        if name != but:
            text = json.dumps({"night": name, "verdict": "abandoned", "for": but}, indent=2)
            write_text(paths.night(name).result, text + "\n")


def _without_result(paths: StatePaths) -> list[str]:
    try:
        names = [path.name for path in paths.nights.iterdir()]
    except FileNotFoundError:
        return []
    return [name for name in names if is_night_id(name) and not (paths.night(name).result).is_file()]


@dataclass(frozen=True)
class Workroom:
    """An open night: its journal, calls, prompts and ledger."""

    settings: Settings
    paths: StatePaths
    night: str
    journal: Journal
    calls: Calls
    prompts: Prompts
    ledger: RuleLedger
    evidence: EvidenceLog

    @property
    def judging(self) -> Judging:
        """Who judges replies."""
        return Judging(self.calls, self.prompts)

    @property
    def inputs_path(self) -> Path:
        """Where the night's inputs are pinned."""
        return self.paths.night(self.night).root / INPUTS


@asynccontextmanager
async def workroom(
    settings: Settings, paths: StatePaths, night: str, roles: Mapping[Role, Backend]
) -> AsyncGenerator[Workroom]:
    """Open a night's journal and models; closes them. The caller holds the lock.

    Questions that wait for a person's answer are written when it closes with `HandoffPending`.
    """
    place = paths.night(night)
    prompts = Prompts.read(Path(settings.prompts_path) if settings.prompts_path else paths.prompts)
    ledger = RuleLedger(paths.home)
    make_file(place.journal)  # the programs that open it next would make it readable for others
    journal = Journal.open(place.journal)
    try:
        prompts = _pinned(journal, prompts)
        caps = Caps(
            settings.max_calls_per_night,
            settings.max_tokens_per_night,
            settings.max_cost_per_night,
            settings.max_minutes_per_night,
        )
        meter = Meter(caps, spent_of(journal, workers=settings.workers))
        calls = Calls(journal, meter, roles, workers=settings.workers, version=prompts.hash)
        evidence = EvidenceLog(place.evidence, on=settings.evidence_log, max_chars=settings.evidence_max_chars)
        yield Workroom(settings, paths, night, journal, calls, prompts, ledger, evidence)
    except HandoffPending:
        waiting = {id(backend): backend for backend in roles.values() if isinstance(backend, Handoff)}
        paths.make_in_project()
        n = sum(backend.publish() for backend in waiting.values())
        places = ", ".join(dict.fromkeys(str(backend.directory) for backend in waiting.values()))
        raise HandoffPending(
            f"{n} questions wait in {places}",
            hint="answer each in a fresh context, then run the same command again",
        ) from None
    finally:
        await journal.aclose()
        ledger.close()


def _pinned(journal: Journal, prompts: Prompts) -> Prompts:
    """The prompt texts that a night began with are the ones it ends with."""
    known = as_object(journal.get_meta("prompts"))
    if not known:
        journal.set_meta("prompts", dict(prompts.texts))
        return prompts
    return replace(prompts, texts={name: as_text(text) for name, text in known.items()})


async def run_night(
    settings: Settings,
    paths: StatePaths,
    inputs: NightInputs,
    roles: Mapping[Role, Backend],
    *,
    say: Callable[[str], None],
) -> Night:
    """Hold, or continue, the night of these (pinned) inputs and stage it. The caller holds the lock.

    Raises `Stopped`, `HandoffPending` (the questions are written), `BackendError`.
    """
    async with workroom(settings, paths, inputs.night, roles) as room:
        return await held(room, inputs, say)


async def held(room: Workroom, inputs: NightInputs, say: Callable[[str], None]) -> Night:
    """The night of these inputs in its open workroom, staged."""
    settings = room.settings
    metric = Metric(settings.gate_metric, settings.gate_mixed_weight)
    replayer = Replayer(room.calls, room.prompts, room.judging, metric)
    terms = Terms(
        _level(settings, inputs),
        settings.gate_min_effect,
        settings.gate_coverage_floor,
        settings.gate_regression_budget,
    )
    bench = Bench(inputs, settings, replayer, room.ledger, terms, room.calls.model_key())
    result = await hold(bench, room.evidence, say)
    return _close(bench, room, result)


def _close(bench: Bench, room: Workroom, result: NightResult) -> Night:
    settings, inputs, calls, paths, prompts = room.settings, result.inputs, room.calls, room.paths, room.prompts
    power = power_for(settings, inputs)
    facts = facts_of(result, calls.spent, calls.minutes(), power)
    lost = room.evidence.failures
    report = report_of(result, calls.spent, calls.minutes(), power, models=calls.model_key(), prompts=prompts.hash,
                       lost=lost)  # fmt: skip
    manifest = Manifest(
        night=inputs.night,
        project=inputs.project,
        verdict=result.verdict,
        targets=(),
        roots=tuple(str(Path(root).resolve()) for root in settings.skill_roots),
        model_key=calls.model_key(),
        prompts_hash=prompts.hash,
        config_hash=text_digest(repr(settings))[:32],
        confirmed=result.verdict == "accepted",
    )
    directory = stage(paths, manifest, proposals_of(bench, result), report=report, facts=facts)
    remember(bench, result)
    for found in result.kinds:
        tell(room.evidence, found)
    room.evidence.write("stage", "staged", directory=str(directory), verdict=result.verdict)
    found = diagnostics_of(result, calls.errors, room.evidence.failures)
    write_text(paths.night(inputs.night).diagnostics, json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    for backend in bench.replayer.calls.backends():
        if isinstance(backend, Handoff):
            backend.finish()
    row: dict[str, JsonValue] = {
        name: facts[name] for name in ("night", "verdict", "baseline", "candidate", "n_tasks", "spend")
    }
    bench.ledger.put_night(inputs.night, {**row, "staging": str(directory), "model_key": calls.model_key()})
    write_text(paths.night(inputs.night).result, json.dumps(facts, ensure_ascii=False, indent=2) + "\n")
    return Night(result, facts, directory, dict(calls.live))


def proposals_of(bench: Bench, result: NightResult) -> list[Proposal]:
    """What is staged: proven edits, or suggestions that nothing could prove; on every target of their kind."""
    proposals: list[Proposal] = []
    for found in result.kinds:
        primary = result.inputs.primary(found.kind)
        edits = found.edits if found.verdict in ("accepted", "unproven") else ()
        if primary is None or not (edits or found.marked):
            continue
        for target in (primary, *result.inputs.mirrors(found.kind)):
            # A mirror gets what can be applied there: rules it does not have cannot be replaced or deleted.
            known = bench.ledger.in_force(target.name)
            own = [_on(edit, known) for edit in (*edits, *found.marked)]
            proposal = _proposal(bench, target, tuple(edit for edit in own if edit is not None))
            proposals.append(proposal if target is primary else replace(proposal, mirrors=primary.name))
    return proposals


def _on(edit: RuleEdit, known: Mapping[str, str]) -> RuleEdit | None:
    if edit.op == "add" or edit.rule_id in known:
        return None if edit.op == "add" and edit.id in known else edit
    return replace(edit, op="add", rule_id="") if edit.op == "replace" else None


def _proposal(bench: Bench, target: Target, edits: tuple[RuleEdit, ...]) -> Proposal:
    inputs = bench.inputs
    head = ""
    if target.kind == "skill" and inputs.bases.get(target.name) is None:
        topics = "; ".join(
            dict.fromkeys(clean(task.intent.splitlines()[0], 60) for task in inputs.of_split("train")[:6])
        )
        head = front_matter(
            target.live.parent.name, f"Learned preferences of this project. Use it for requests like: {topics}"
        )
    known = tuple(bench.ledger.in_force(target.name).items())
    return Proposal(target, inputs.bases.get(target.name), edits, known, head)
