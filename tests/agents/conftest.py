"""Fixtures of the agent tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.stand_in import Stand


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    """A stand-in program; its journals are closed afterwards."""
    made = Stand(tmp_path / "stand")
    yield made
    made.close()
