"""What every executor answers, asked of Ray: the same values, the same errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from skillopt.executors.ray.executor import RayExecutor
from skillopt.executors.ray.settings import RaySettings
from tests.executors.cluster import TwoNodes
from tests.work.test_executors import *  # noqa: F403

pytestmark = [pytest.mark.ray, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def executor(cluster: TwoNodes) -> AsyncGenerator[RayExecutor]:
    one = RayExecutor(RaySettings(address=cluster.address))
    yield one
    await one.aclose()
    await one.aclose()
