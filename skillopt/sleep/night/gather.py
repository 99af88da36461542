"""The way to a night's inputs: survey, mining, split, target documents; or a reviewed task file in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillopt.core.json_types import JsonValue
from skillopt.sleep.digest import MINED
from skillopt.sleep.errors import Refused
from skillopt.sleep.mining.archive import TaskArchive
from skillopt.sleep.mining.similarity import LIGHT_WORDS, tokens_of
from skillopt.sleep.mining.split import Shares, SplitLedger
from skillopt.sleep.mining.task_file import read_task_file
from skillopt.sleep.mining.tasks import Draft
from skillopt.sleep.night.inputs import NightInputs, text_of
from skillopt.sleep.night.mine import Miner, with_rules_only
from skillopt.sleep.proposal.targets import HOSTS, Kind, Target, targets_of
from skillopt.sleep.redact import redact
from skillopt.sleep.scoring.checks import problem_of
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.digests import DigestStore
from skillopt.sleep.survey import Survey
from skillopt.sleep.task import TaskRecord


def hosts_of(by_origin: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The hosts whose sessions were seen, most sessions first."""
    counts: dict[str, int] = {}
    for source, origins in by_origin.items():
        host = next((h for h in HOSTS if source.startswith(h)), "")
        if host:
            counts[host] = counts.get(host, 0) + sum(n for origin, n in origins.items() if origin in MINED)
    return sorted((h for h in counts if counts[h]), key=lambda host: (-counts[host], host))


def night_targets(settings: Settings, project: Path, hosts: Sequence[str]) -> tuple[list[Target], list[str]]:
    """The target documents. Raises `Refused` where there is none."""
    kinds: list[Kind] = [*(["skill"] if settings.evolve_skill else []), *(["memory"] if settings.evolve_memory else [])]
    named = [name for name in settings.targets if name != "auto"]
    if settings.target_skill_path:
        named = [*named, settings.target_skill_path]
    roots = [Path(root) for root in settings.skill_roots]
    found, refused = targets_of(
        project, hosts or ["claude"], skill_name=settings.managed_skill_name, named=named, roots=roots, kinds=kinds
    )
    if not found:
        raise Refused("there is no target document", hint="; ".join(refused) or "say --target NAME|PATH")
    return found, refused


@dataclass(frozen=True)
class Desk:
    """The target documents of a night and their live bytes, looked at before anything is paid."""

    targets: tuple[Target, ...] = ()
    bases: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings, project: Path, hosts: Sequence[str]) -> Desk:
        """The desk. Raises `Refused` where there is no target, `TargetRefused` where one cannot be read."""
        targets, refused = night_targets(settings, project, hosts)
        notes = (*refused, *(f"{target.name}: {target.note}" for target in targets if target.note))
        return cls(tuple(targets), {target.name: target.read() for target in targets}, notes)

    def concerned(self, drafts: Sequence[Draft], settings: Settings) -> tuple[list[Draft], str]:
        """The drafts that share a word with the one skill that was named, and what is said of the choice."""
        named = bool(settings.target_skill_path) or any(name.endswith("SKILL.md") for name in settings.targets)
        skills = [target for target in self.targets if target.kind == "skill"]
        if not (settings.target_task_filter and named and len(skills) == 1 and drafts):
            return list(drafts), ""
        skill = skills[0]
        headings = re.findall(r"(?m)^ {0,3}#{1,6}[ \t]+(.+)$", text_of(self.bases[skill.name]))
        words = tokens_of(" ".join((_spaced(skill.live.parent.name), *headings))) - LIGHT_WORDS
        kept = [draft for draft in drafts if words & tokens_of(draft.task.intent)]
        if not kept:
            return list(drafts), f"no request shares a word with the skill {skill.live.parent.name}: all are kept"
        return kept, f"{len(kept)} of {len(drafts)} requests concern the skill {skill.live.parent.name}"


def _spaced(name: str) -> str:
    return re.sub(r"[-_.]+", " ", name)


async def mined_inputs(
    database: StateDatabase, seen: Survey, miner: Miner, settings: Settings, desk: Desk, project: Path, night: str,
    *, now: float,
) -> NightInputs:  # fmt: skip
    """The inputs of a night from the sessions that were read in at `now`."""
    drafts, said = desk.concerned(seen.selection.drafts, settings)
    tasks = await miner.tasks(drafts) if settings.llm_mine else with_rules_only(drafts)
    usable = [task for task in tasks if task.reference_kind != "none" and task.tier == "text"]
    shares = Shares(settings.val_fraction, settings.test_fraction, settings.seed)
    splits = SplitLedger(database).decide(usable, shares, now=now)
    tasks = [replace(task, split=splits.get(task.id, task.split)) for task in tasks]
    TaskArchive(database).keep([task for task in tasks if task.id in splits])
    facts: dict[str, JsonValue] = {
        "n_sessions": seen.sessions,
        "sessions_by_class": {source: dict(origins) for source, origins in seen.by_origin.items()},
        "tasks_file": None,
        "tasks_reviewed": None,
    }
    runs = DigestStore(database).tool_runs()
    supports = {cluster.id: cluster.support for cluster in seen.clusters}
    found = _inputs(desk, project, night, tasks, supports, runs, facts, said)
    return replace(found, surveyed_at=now, left_out=tuple(seen.selection.left_out))


def file_inputs(
    path: Path, database: StateDatabase, settings: Settings, desk: Desk, project: Path, night: str, *, now: float
) -> NightInputs:
    """The inputs of a night from a task file that a person reviewed. Raises `TaskFileError`."""
    file = read_task_file(path, problem_of=problem_of)
    file.require_review(path)
    shares = Shares(settings.val_fraction, settings.test_fraction, settings.seed)
    undecided = [task for task in file.tasks if not task.split]
    splits = SplitLedger(database).decide(undecided, shares, now=now)
    tasks = [_redacted(replace(task, split=task.split or splits[task.id])) for task in file.tasks]
    facts: dict[str, JsonValue] = {
        "n_sessions": file.n_sessions,
        "sessions_by_class": {},
        "tasks_file": str(path),
        "tasks_reviewed": True,
    }
    supports: dict[str, int] = {}
    for task in tasks:
        supports[task.cluster_id] = supports.get(task.cluster_id, 0) + 1
    runs = DigestStore(database).tool_runs()
    return _inputs(desk, project, night, tasks, supports, runs, facts, "")


def _redacted(task: TaskRecord) -> TaskRecord:
    """A person may have written a secret into the file."""
    return replace(
        task,
        intent=redact(task.intent),
        context=tuple(redact(part) for part in task.context),
        bad_answer=redact(task.bad_answer),
        good_answer=redact(task.good_answer),
        reference=redact(task.reference),
    )


def _inputs(
    desk: Desk, project: Path, night: str, tasks: Sequence[TaskRecord], supports: Mapping[str, int],
    runs: frozenset[int], facts: dict[str, JsonValue], said: str,
) -> NightInputs:  # fmt: skip
    notes: list[JsonValue] = [*desk.notes, *([said] if said else [])]
    return NightInputs(
        night=night,
        project=str(project),
        tasks=tuple(tasks),
        targets=desk.targets,
        bases=desk.bases,
        supports=supports,
        tool_runs=runs,
        facts={**facts, "notes": notes},
    )
