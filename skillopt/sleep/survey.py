"""What lies before a night without asking a model: sessions read in, requests clustered, drafts chosen.

`harvest` and `plan` show it, a night begins with it, so all three see the same. It writes the digest store only; no
split is decided, and nothing is moved that a later night would miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import as_array, as_text, parse_json
from skillopt.sleep.digest import MINED
from skillopt.sleep.ingest import IngestReport, ingest, sources_of
from skillopt.sleep.mining.archive import TaskArchive
from skillopt.sleep.mining.clusters import Cluster, ClusterLedger
from skillopt.sleep.mining.feedback import Phrases
from skillopt.sleep.mining.requests import requests_of
from skillopt.sleep.mining.tasks import Selection, select
from skillopt.sleep.settings.schema import Settings
from skillopt.sleep.state.database import StateDatabase
from skillopt.sleep.state.digests import DigestStore

LAST_NIGHT, WAITING = "last_completed_night", "waiting_clusters"
"""`meta` of the database: when the last completed night began (UTC epoch), and what it left out (a JSON list)."""


@dataclass(frozen=True)
class Survey:
    """One look at a project's sessions."""

    report: IngestReport
    by_origin: dict[str, dict[str, int]]
    """Sessions in the store: source → origin → how many."""
    clusters: tuple[Cluster, ...]
    selection: Selection

    @property
    def sessions(self) -> int:
        """Sessions in the store that may be learned from."""
        return sum(n for origins in self.by_origin.values() for origin, n in origins.items() if origin in MINED)


def survey(database: StateDatabase, project: Path, settings: Settings, *, now: float) -> Survey:
    """Read in, cluster, choose. Raises `StateError`."""
    store = DigestStore(database)
    report = ingest(store, sources_of(settings), project, settings, now=now)
    store.expire(now - settings.digest_days * 86_400)
    TaskArchive(database).expire(now - settings.digest_days * 86_400)
    phrases = Phrases(settings.neg_feedback, settings.pos_feedback)
    mined = [session for session in store.sessions() if session.origin in MINED]
    requests = [request for session in mined for request in requests_of(session, phrases)]
    clusters = ClusterLedger(database).assign(requests, now=now)
    selection = select(
        clusters,
        now=now,
        since=_since(database, settings, now),
        min_support=settings.min_support,
        max_tasks=settings.max_tasks_per_night,
        max_sessions=settings.sessions_limit,
        waiting=waiting(database),
    )
    return Survey(report, store.by_origin(), clusters, selection)


def waiting(database: StateDatabase) -> Sequence[str]:
    """Clusters that the last night left out."""
    text = database.meta(WAITING)
    return [as_text(part) for part in as_array(parse_json(text))] if text else []


def _since(database: StateDatabase, settings: Settings, now: float) -> float:
    """Sessions that ended then or later make a cluster worth a look; what ended after the last night always does."""
    if settings.lookback_hours == 0:
        return 0.0
    since = now - settings.lookback_hours * 3_600
    last = database.meta(LAST_NIGHT)
    return min(since, float(last)) if last else since
