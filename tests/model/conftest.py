"""Fixtures of the model floor's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.model.client import Client
from skillopt.model.prices import load_prices
from skillopt.model.traffic.outage import OutagePolicy
from skillopt.model.traffic.pool import LimiterPool, Limits
from skillopt.model.types import Backend
from skillopt.store.journal import Journal

from .model_support import QuickBackoff, Rig, WatchfulMeter


@pytest.fixture
async def rig(tmp_path: Path):
    """Makes rigs; closes backends and journals, and checks that no reservation stays open."""
    made: list[Rig] = []

    def make(
        backend: Backend,
        *,
        width: int = 8,
        failures: int = 10,
        journal: Journal | None = None,
        outages: OutagePolicy | None = None,
    ) -> Rig:
        pool = LimiterPool(identical_failures=failures, outages=outages or OutagePolicy())
        meter, backoff = WatchfulMeter(), QuickBackoff()
        journal = journal or Journal.open(tmp_path / f"journal{len(made)}.sqlite")
        client = Client(
            role="target",
            backend=backend,
            journal=journal,
            meter=meter,
            pool=pool,
            prices=load_prices(),
            limits=Limits(width=width),
            backoff=backoff,
        )
        made.append(Rig(client, meter, journal, pool, backoff))
        return made[-1]

    yield make
    for one in made:
        await one.client.aclose()
        await one.journal.aclose()
        assert not one.meter.open, "a reservation was neither settled nor released"
