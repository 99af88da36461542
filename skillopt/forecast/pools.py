"""What several endpoints make of a run: how many calls they take together, and who is one too many."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from skillopt.config import Config, RoleSettings, role_settings
from skillopt.records.vocabulary import Role


def in_flight(settings: RoleSettings, workers: int) -> int:
    """Calls of a role in flight: as many as there are workers, and not more than its endpoints take."""
    if not settings.endpoints:
        return workers
    return min(workers, sum(entry.width or workers for entry in settings.endpoints))


def pools_of(config: Config, roles: Sequence[Role]) -> tuple[str, ...]:
    """A sentence for each role with several endpoints."""
    told: list[str] = []
    for role in roles:
        settings = role_settings(config.model, role)
        if not settings.endpoints:
            continue
        workers = config.gradient.analyst_workers if role == "optimizer" else config.env.workers
        weight = sum(entry.weight for entry in settings.endpoints)
        parts = [
            f"{_host(entry.url)} ({100 * entry.weight / weight:.0f} %, {entry.width or workers} at once)"
            for entry in settings.endpoints
        ]
        most = sum(entry.width or workers for entry in settings.endpoints)
        name = "gradient.analyst_workers" if role == "optimizer" else "env.workers"
        idle = f"; {name}={workers} keeps fewer in flight than their {most}" if workers < most else ""
        told.append(f"the {role} has {len(parts)} endpoints: {', '.join(parts)}{idle}")
    return tuple(told)


def _host(url: str) -> str:
    """Host and port: an address may hold a name and a password."""
    return urlsplit(url).netloc.rpartition("@")[2]
