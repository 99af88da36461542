"""One cluster of two nodes for all tests marked `ray`; skipped with a reason where Ray is not installed."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import AsyncGenerator, Generator

import pytest

from skillopt.executors.ray.executor import RayExecutor
from skillopt.executors.ray.settings import RaySettings
from tests.executors.cluster import TwoNodes


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only where they were asked for by name: other campaigns would start a cluster too."""
    if not re.search(r"\bray\b", str(config.option.markexpr)):
        for item in items:
            if item.get_closest_marker("ray"):
                item.add_marker(pytest.mark.skip(reason="make test-ray runs it"))


@pytest.fixture(scope="session")
def needs_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'skillopt[ray]'")


@pytest.fixture(scope="session")
def cluster(needs_ray: None) -> Generator[TwoNodes]:
    nodes = TwoNodes()
    before = {name: os.environ.get(name) for name in nodes.access}
    os.environ.update(nodes.access)
    yield nodes
    nodes.stop()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture
def settings(cluster: TwoNodes) -> RaySettings:
    return RaySettings(address=cluster.address)


@pytest.fixture
async def executor(settings: RaySettings) -> AsyncGenerator[RayExecutor]:
    one = RayExecutor(settings)
    yield one
    await one.aclose()
    await one.aclose()
