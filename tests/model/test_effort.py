"""Reasoning effort at the wire: a request takes the role's own, brings one, or wants none at all."""

from __future__ import annotations

import pytest

from skillopt.model.client import Client
from skillopt.model.prices import load_prices
from skillopt.model.providers.wire.dialect import Dialect
from skillopt.model.traffic.pool import LimiterPool
from skillopt.testing.scripted import ScriptedBackend

from .model_support import WatchfulMeter, ask


@pytest.mark.parametrize(("asked", "sent"), [("", "medium"), ("high", "high"), (None, None)])
async def test_the_roles_effort_holds_where_a_request_says_nothing(rig, asked, sent):
    seen = []
    backend = ScriptedBackend(lambda request: seen.append(request) or "ok", version="1")
    parts = rig(backend)
    client = Client(
        role="optimizer",
        backend=backend,
        journal=parts.journal,
        meter=WatchfulMeter(),
        pool=LimiterPool(identical_failures=3),
        prices=load_prices(),
        reasoning_effort="medium",
    )
    await client.chat(ask(reasoning_effort=asked))
    assert [request.reasoning_effort for request in seen] == [sent]
    form = Dialect()
    body = form.body(seen[0], model="m", fixed={"reasoning_effort": "low"})
    assert body.get("reasoning_effort") == sent
    assert form.body(ask(), model="m", fixed={"reasoning_effort": "low"})["reasoning_effort"] == "low"
