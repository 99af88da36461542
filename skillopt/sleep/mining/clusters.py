"""Requests that keep coming back: clusters, found without a model, with ids that are given once.

Single pass in the order of time: a request joins the cluster whose first request it is most like, or begins one. The
first request stays the cluster's measure, so that its meaning does not wander; id and members are in the ledger and
survive paraphrases, new members and renaming. A model may name a finished cluster, never fill it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillopt.core.json_types import as_array, as_text, parse_json
from skillopt.sleep.mining.requests import Request
from skillopt.sleep.mining.similarity import ALIKE, LIGHT_WORDS, likeness, substance, tokens_of
from skillopt.sleep.state.database import StateDatabase

_HALF_LIFE_DAYS = 14.0
_MIN_WORDS = 2


@dataclass(frozen=True)
class Cluster:
    """A kind of request and the ones of it that are known."""

    id: str
    name: str
    members: tuple[Request, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        """Keys of the distinct sessions that asked."""
        return tuple(dict.fromkeys(member.session.key for member in self.members))

    @property
    def support(self) -> int:
        """How many distinct sessions asked."""
        return len(self.sessions)

    @property
    def corrected(self) -> int:
        """How many of its requests were corrected."""
        return sum(bool(member.corrections) for member in self.members)

    @property
    def last_at(self) -> float:
        """When the newest of its sessions ended."""
        return max(member.session.ended_at for member in self.members)

    def rank(self, now: float) -> float:
        """Support × correction rate × recency."""
        rate = (self.corrected + 0.5) / (len(self.members) + 1)
        return self.support * rate * 0.5 ** (max(0.0, now - self.last_at) / 86_400 / _HALF_LIFE_DAYS)


class ClusterLedger:
    """Clusters and their members as one project's database keeps them."""

    def __init__(self, database: StateDatabase) -> None:
        self.database = database

    def assign(self, requests: Sequence[Request], *, now: float) -> tuple[Cluster, ...]:
        """Every request in its cluster, known ones where they were. Writes what is new."""
        found = _Index(self._clusters())
        known = self._members()
        members: dict[str, list[Request]] = {}
        new: list[tuple[str, int, str]] = []
        born: list[tuple[str, frozenset[str]]] = []
        for request in sorted(requests, key=lambda r: (r.session.ended_at, r.session.key, r.index)):
            tokens = tokens_of(request.opening)
            if substance(tokens) < _MIN_WORDS:
                continue
            place = (request.session.key, request.index)
            cluster_id = known.get(place, "")
            if not found.holds(cluster_id, tokens):
                cluster_id = found.nearest(tokens) or cluster_id_of(*place)
                if found.add(cluster_id, tokens):
                    born.append((cluster_id, tokens))
                new.append((*place, cluster_id))
            members.setdefault(cluster_id, []).append(request)
        self._write(born, new, now)
        names = {str(cid): str(name) for cid, name in self.database.rows("SELECT id, name FROM clusters")}
        return tuple(Cluster(cid, names.get(cid, ""), tuple(group)) for cid, group in members.items())

    def name(self, cluster_id: str, name: str) -> None:
        """Give a finished cluster its name."""
        self.database.run("UPDATE clusters SET name = ? WHERE id = ?", (name, cluster_id))

    def _clusters(self) -> list[tuple[str, frozenset[str]]]:
        rows = self.database.rows("SELECT id, tokens FROM clusters ORDER BY created_at, id")
        return [(str(cid), frozenset(as_text(t) for t in as_array(parse_json(str(tokens))))) for cid, tokens in rows]

    def _members(self) -> dict[tuple[str, int], str]:
        rows = self.database.rows("SELECT session, request, cluster_id FROM members")
        return {(str(session), int(str(request))): str(cluster_id) for session, request, cluster_id in rows}

    def _write(self, born: Iterable[tuple[str, frozenset[str]]], new: list[tuple[str, int, str]], now: float) -> None:
        with self.database.transaction():
            for cluster_id, tokens in born:
                self.database.run(
                    "INSERT OR IGNORE INTO clusters (id, tokens, created_at) VALUES (?, ?, ?)",
                    (cluster_id, json.dumps(sorted(tokens), ensure_ascii=False), now),
                )
            for session, request, cluster_id in new:
                self.database.run("INSERT OR REPLACE INTO members VALUES (?, ?, ?)", (session, request, cluster_id))


def cluster_id_of(session: str, index: int) -> str:
    """The id of the cluster that a request begins: `c` and ten hex digits."""
    return "c" + hashlib.sha256(f"{session}#{index}".encode("utf-8", "surrogatepass")).hexdigest()[:10]


class _Index:
    """First requests by their words, so that not every pair is compared."""

    def __init__(self, clusters: Iterable[tuple[str, frozenset[str]]]) -> None:
        self._tokens: dict[str, frozenset[str]] = {}
        self._born: dict[str, int] = {}
        self._by_word: dict[str, list[str]] = {}
        for cluster_id, tokens in clusters:
            self.add(cluster_id, tokens)

    def add(self, cluster_id: str, tokens: frozenset[str]) -> bool:
        """Take in a new cluster; False for one that is known."""
        if cluster_id in self._tokens:
            return False
        self._born[cluster_id] = len(self._tokens)
        self._tokens[cluster_id] = tokens
        for word in tokens:
            self._by_word.setdefault(word, []).append(cluster_id)
        return True

    def holds(self, cluster_id: str, tokens: frozenset[str]) -> bool:
        """Whether a request still is of the cluster it was put into: its session may have been rewound since."""
        return cluster_id in self._tokens and likeness(self._tokens[cluster_id], tokens) >= ALIKE

    def nearest(self, tokens: frozenset[str]) -> str:
        """The most alike cluster, the older one of two; blank where none is alike."""
        near = {cid for word in tokens if word not in LIGHT_WORDS for cid in self._by_word.get(word, ())}
        best, best_id = 0.0, ""
        for cluster_id in sorted(near, key=self._born.__getitem__):
            score = likeness(self._tokens[cluster_id], tokens)
            if score >= ALIKE and score > best:
                best, best_id = score, cluster_id
        return best_id
