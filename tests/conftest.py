"""For all tests: examples of property tests, command lines at the price of a fork, no network but this machine's own.

The last is `pytest-socket` with `--allow-hosts` in pyproject.toml: a test that would reach out fails.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from skillopt.testing.latency_server import Behaviour, LatencyServer
from skillopt.testing.rig import FinishedRuns, Rig, reserved_port
from skillopt.testing.toy_task import answer, write_data
from skillopt.testing.trees import tree
from skillopt.testing.zygote import Zygote
from tests import examples, tiers

pytest_plugins = ["pytester"]
examples.load_profile()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # the suite was started in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)

FAST = Path("/dev/shm")
"""Memory: nothing here is about the loss of power, and runs by the thousand flush a great deal."""
ROOM = 4 * 2**30


def pytest_configure() -> None:
    """Temporary directories in memory where there is room, as far as nobody has said where else."""
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not os.access(FAST, os.W_OK) or shutil.disk_usage(FAST).free < ROOM:
        return
    place = FAST / f"skillopt-tests-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests and what they import live to the end: the collector of garbage need not walk them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` picks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """See `tests.tiers`."""
    tiers.mark_further_cases(items)


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory):
    """Command lines in processes of their own."""
    with Zygote(tmp_path_factory.mktemp("zygote")) as one:
        yield one


@pytest.fixture(scope="session")
def toy_place(tmp_path_factory: pytest.TempPathFactory):
    """What all rigs share, so that the same configuration is the same run: a port, data, and the runs that are done."""
    root = tmp_path_factory.mktemp("toy")
    (root / "runs").mkdir()
    with reserved_port() as port:
        yield port, write_data(root / "data"), FinishedRuns(root / "runs")


@pytest.fixture
async def rig(zygote: Zygote, toy_place: tuple[int, Path, FinishedRuns], tmp_path: Path):
    """Whole runs: the command line against a counting server. The data are shared: `Rig.own_data` makes others."""
    port, data, kept = toy_place
    before = tree(data)
    async with LatencyServer(Behaviour(median_s=0.003), answer, port=port, keep_bodies=True) as server:
        yield Rig(zygote, server, tmp_path, data, kept)
    if tree(data) != before:
        shutil.rmtree(data)
        write_data(data)
        pytest.fail("this test changed data that others share: call rig.own_data() first")
