"""Whole factorial runs on the toy: one zygote for a module, one counting server for a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer, write_data
from skillopt.testing.zygote import Zygote

SIZES = {"train": 40, "val": 24, "test": 24}


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory):
    with Zygote(tmp_path_factory.mktemp("zygote")) as one:
        yield one


@pytest.fixture
async def rig(zygote: Zygote, tmp_path: Path):
    async with LatencyServer(Behaviour(median_s=0.002), answer, keep_bodies=True) as server:
        rig = Rig(zygote, server, tmp_path, write_data(tmp_path / "data", SIZES))
        rig.config(train__search="factorial", train__num_epochs=5, train__batch_size=16)
        yield rig
