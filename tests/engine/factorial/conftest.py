"""Whole factorial runs on the toy, through the command line; those that are alike are made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.rig import FinishedRuns, Rig
from skillopt.testing.toy_task import answer, write_data
from skillopt.testing.zygote import Zygote

SIZES = {"train": 40, "val": 24, "test": 24}


@pytest.fixture(scope="session")
def factorial_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("factorial") / "data", SIZES)


@pytest.fixture
async def rig(zygote: Zygote, toy_place: tuple[int, Path, FinishedRuns], factorial_data: Path, tmp_path: Path):
    port, _, kept = toy_place
    async with LatencyServer(Behaviour(median_s=0.002), answer, port=port, keep_bodies=True) as server:
        rig = Rig(zygote, server, tmp_path, factorial_data, kept)
        rig.config(train__search="factorial", train__num_epochs=5, train__batch_size=16)
        yield rig
