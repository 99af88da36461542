"""One zygote for the module: command lines in fresh processes at the price of a fork."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.zygote import Zygote


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory):
    with Zygote(tmp_path_factory.mktemp("zygote")) as one:
        yield one


@pytest.fixture
def data(tmp_path: Path) -> Path:
    from benchmarks.toy_task import write_data

    return write_data(tmp_path / "data")
