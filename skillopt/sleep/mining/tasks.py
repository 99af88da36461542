"""Draft tasks: what a request gives without a model. A miner adds intent, checks and rubric (`miner`).

One session gives one task per cluster: a corrected request if it has one, else its last. The draft holds what was known
before the answer; the correction and everything later stay out of `intent` and `context`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.sleep.mining.clusters import Cluster
from skillopt.sleep.mining.requests import Request
from skillopt.sleep.proposal.screen import screened
from skillopt.sleep.redact import clean
from skillopt.sleep.task import MAX_ANSWER, MAX_CONTEXT, MAX_CONTEXT_PARTS, MAX_INTENT, Outcome, TaskRecord, Tier


@dataclass(frozen=True)
class Draft:
    """A task without a check, and the request it came from."""

    task: TaskRecord
    request: Request

    @property
    def is_pair(self) -> bool:
        """Whether it has a refused and an accepted answer."""
        return bool(self.task.bad_answer and self.task.good_answer)


@dataclass(frozen=True)
class Selection:
    """What a night looks at, and what waits for the next one."""

    clusters: tuple[Cluster, ...]
    drafts: tuple[Draft, ...]
    left_out: tuple[str, ...]
    """Ids of clusters that did not fit: they come first next night."""
    too_rare: int
    """Clusters below the support asked for."""


def drafts_of(cluster: Cluster) -> tuple[Draft, ...]:
    """One draft per session, in the order of time."""
    chosen: dict[str, Request] = {}
    for member in cluster.members:
        before = chosen.get(member.session.key)
        if before is None or bool(member.corrections) >= bool(before.corrections):
            chosen[member.session.key] = member
    return tuple(Draft(_drafted(cluster.id, request), request) for request in chosen.values())


def task_id(cluster_id: str, session: str) -> str:
    """`<cluster id>.<session id hash>`."""
    return f"{cluster_id}.{hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def select(
    clusters: Sequence[Cluster],
    *,
    now: float,
    since: float,
    min_support: int,
    max_tasks: int,
    max_sessions: int,
    waiting: Sequence[str] = (),
) -> Selection:
    """The clusters of a night: often enough, with a session that ended at `since` or later, best first, within limits.

    `waiting` are clusters that an earlier night left out; they come first whatever their age.
    """
    often = [cluster for cluster in clusters if cluster.support >= min_support]
    fresh = [cluster for cluster in often if cluster.last_at >= since or cluster.id in waiting]
    fresh.sort(key=lambda cluster: (cluster.id not in waiting, -cluster.rank(now), cluster.id))
    taken, drafts, left_out = list[Cluster](), list[Draft](), list[str]()
    sessions: set[str] = set()
    for cluster in fresh:
        own = drafts_of(cluster)
        room = max_tasks - len(drafts)
        if room < min(len(own), min_support) or len(sessions | set(cluster.sessions)) > max_sessions:
            left_out.append(cluster.id)
            continue
        taken.append(cluster)
        drafts.extend(_best(own, room))
        sessions.update(cluster.sessions)
    return Selection(tuple(taken), tuple(drafts), tuple(left_out), len(clusters) - len(often))


def _best(drafts: tuple[Draft, ...], room: int) -> list[Draft]:
    """At most `room` drafts: pairs first, then the newest; in the order of time again."""
    order = sorted(range(len(drafts)), key=lambda i: (not drafts[i].is_pair, -i))[:room]
    return [drafts[i] for i in sorted(order)]


def _drafted(cluster_id: str, request: Request) -> TaskRecord:
    skills = tuple(dict.fromkeys(name for turn in request.turns for name in turn.skills))
    return TaskRecord(
        id=task_id(cluster_id, request.session.key),
        cluster_id=cluster_id,
        project=request.session.project,
        intent=clean(request.opening, MAX_INTENT),
        context=tuple(clean(said, MAX_CONTEXT) for said in request.before[:MAX_CONTEXT_PARTS]),
        bad_answer=clean(request.bad_answer, MAX_ANSWER),
        good_answer=clean(request.good_answer, MAX_ANSWER),
        outcome=_outcome(request),
        tier=_tier(request),
        source_sessions=(request.session.key,),
        skill_hint=skills[0] if len(skills) == 1 else "",
        screened=screened(
            "\n".join((request.opening, *request.before, request.bad_answer, request.good_answer)),
            project=Path(request.session.project),
        ),
    )


def _outcome(request: Request) -> Outcome:
    if request.corrections:
        return "mixed" if request.accepted else "fail"
    return "success" if request.accepted else "unknown"


def _tier(request: Request) -> Tier:
    """A guess from what the agent touched; a miner that read the request knows better."""
    if any(turn.files for turn in request.turns):
        return "worktree"
    return "none" if any(turn.tools for turn in request.turns) else "text"
