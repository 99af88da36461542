"""For all tests: examples of property tests, command lines at the price of a fork, no network but this machine's own.

The last is `pytest-socket` with `--allow-hosts` in pyproject.toml: a test that would reach out fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer, write_data
from skillopt.testing.zygote import Zygote
from tests import examples

examples.load_profile()


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory):
    """Command lines in processes of their own."""
    with Zygote(tmp_path_factory.mktemp("zygote")) as one:
        yield one


@pytest.fixture
async def rig(zygote: Zygote, tmp_path: Path):
    """Whole runs: the command line against a counting server."""
    async with LatencyServer(Behaviour(median_s=0.003), answer, keep_bodies=True) as server:
        yield Rig(zygote, server, tmp_path, write_data(tmp_path / "data"))
