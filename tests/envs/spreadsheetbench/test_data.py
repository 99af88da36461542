"""The published archive becomes a split and workbooks, whole or not at all."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from skillopt.core.errors import DataError
from skillopt.envs.datasets.dataset import Request
from skillopt.envs.spreadsheetbench.data import DATASET, unpack
from tests.envs.conftest import split_dir, write
from tests.envs.spreadsheetbench.books import data_set


def archive(tmp_path: Path) -> Path:
    root = tmp_path / "made/all_data_400"
    data_set(root)
    path = tmp_path / "spreadsheetbench_verified_400.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(root, arcname="all_data_400")
    return path


def test_the_archive_is_unpacked_and_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    output = tmp_path / "data/spreadsheetbench_split"
    request = Request("ratio", output, sources=(archive(tmp_path),), report=heard.append)
    written = DATASET.get(request)
    assert written.sizes == (2, 1, 7) and "CC BY-SA 4.0" in heard[0]
    assert (tmp_path / "data/spreadsheetbench/spreadsheet/t0/1_t0_input.xlsx").is_file()
    assert list(DATASET.check(output)) == []
    assert DATASET.get(request).manifest == written.manifest  # again, over what was written


def test_ids_that_are_not_there_are_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(DATASET), "splits", {"published": (1, 1, 2)})
    ids = split_dir(tmp_path / "ids", [{"id": "t1"}], [{"id": "t2"}], [{"id": "gone"}, {"id": "t3"}])
    output = tmp_path / "data/spreadsheetbench_split"
    with pytest.raises(DataError, match=r"1 ids of .*: gone"):
        DATASET.get(Request("", output, ids, (archive(tmp_path),)))
    assert not output.exists()


@pytest.mark.parametrize("name", ["../outside.xlsx", "all/../../outside.xlsx"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as tar:
        for member in ("dataset.json", name):
            info = tarfile.TarInfo(member)
            info.size = 2
            tar.addfile(info, io.BytesIO(b"[]"))
    with pytest.raises(DataError, match="leads out of the directory"):
        unpack(path, tmp_path / "place")
    assert not (tmp_path / "outside.xlsx").exists()


def test_a_broken_archive_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be unpacked") as refused:
        unpack(write(tmp_path / "x.tar.gz", "no archive"), tmp_path / "place")
    assert "\n" not in str(refused.value)
