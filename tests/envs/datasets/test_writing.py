"""Joining, cutting, checking and writing: whole or not at all."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt.envs.datasets.catalogue import datasets
from skillopt.envs.datasets.placing import whole
from skillopt.envs.docvqa.data import DATASET
from skillopt.envs.registry import create_env
from skillopt.testing.trees import tree

from ..conftest import Config, split_dir
from .hub_server import COMMIT, Hub, serving


def png(number: int) -> bytes:
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("RGB", (8, 8), (number, 0, 0)).save(out, format="PNG")
    return out.getvalue()


def row(number: int) -> dict[str, Any]:
    return {"questionId": str(number), "question": f"What is {number}?", "question_types": ["form", "table/list"],
            "image": {"bytes": png(number), "path": None}, "docId": 7, "ucsf_document_id": "f1",
            "ucsf_document_page_no": "2", "answers": [f"gold {number}"], "data_split": "val"}  # fmt: skip


def parquet(rows: list[dict[str, Any]]) -> bytes:
    pyarrow, module = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    module.write_table(pyarrow.Table.from_pylist(rows), out)
    return out.getvalue()


def ids(root: Path, *splits: list[int]) -> Path:
    entries = [[{"id": f"v-{n}", "questionId": n, "topic": f"t{n % 2}"} for n in split] for split in splits]
    return split_dir(root, *entries)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    from skillopt.envs.datasets.dataset import Sizes

    monkeypatch.setattr(type(DATASET), "splits", {"published": Sizes(2, 1, 2)})


def test_a_published_split_from_the_hub(published: None, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    files = {"DocVQA/validation-0.parquet": parquet([row(n) for n in range(4)]),
             "DocVQA/validation-1.parquet": parquet([row(n) for n in range(4, 9)]), "other.parquet": b""}  # fmt: skip
    said: list[str] = []
    with serving(Hub(DATASET.repo, files)) as hub:
        request = Request(output=tmp_path / "docvqa_split", manifest_dir=ids(tmp_path / "ids", [3, 1], [2], [0, 8]),
                          endpoint=hub.url, cache=tmp_path / "cache", report=said.append)  # fmt: skip
        written = api.get("docvqa", request)
    assert "DocVQA: research use" in said[0]
    assert tuple(written.sizes) == (2, 1, 2)
    assert written.manifest["revision"] == COMMIT
    assert written.manifest["split"] == "published"
    env = create_env("docvqa", Config("docvqa", split_mode="split_dir", split_dir=str(written.directory)), {})
    assert [item.id for item in env.load().train] == ["3", "1"]
    item = env.load().test[1]
    assert (item.data["answers"], item.task_type) == (["gold 8"], "t0")
    assert item.data["image_path"] == "docvqa_images/q8_d7.png"
    assert (tmp_path / "docvqa_images/q8_d7.png").read_bytes() == png(8)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "docvqa_images", "docvqa_split", "ids"]
    assert api.check("docvqa", written.directory)[0].problems == []


def test_a_ratio_split_of_files_at_hand(tmp_path: Path) -> None:
    source = tmp_path / "all.parquet"
    source.write_bytes(parquet([row(n) for n in range(10)]))
    request = Request(split="ratio", output=tmp_path / "out", sources=(source,))
    written = api.get("docvqa", request)
    assert tuple(written.sizes) == (2, 1, 7)
    assert (written.manifest["split"], written.manifest["ratio"], written.manifest["seed"]) == ("ratio", "2:1:7", 42)
    first = tree(written.directory)
    assert tree(api.get("docvqa", request).directory) == first


def test_what_is_missing_twice_or_too_little_is_named_and_nothing_written(published: None, tmp_path: Path) -> None:
    source, twice = tmp_path / "a.parquet", tmp_path / "b.parquet"
    source.write_bytes(parquet([row(n) for n in range(9)]))
    twice.write_bytes(parquet([row(3)]))

    def refused(manifest: Path, *sources: Path, split: str = "") -> str:
        before = sorted(tmp_path.iterdir())
        with pytest.raises(SkillOptError) as caught:
            api.get("docvqa", Request(split, tmp_path / "out", manifest, sources or (source,)))
        assert sorted(tmp_path.iterdir()) == before
        return str(caught.value)

    good = ids(tmp_path / "good", [3, 1], [2], [0, 8])
    assert "2 ids of" in (said := refused(ids(tmp_path / "m", [3, 1], [2], [90, 91]))) and "90, 91" in said
    assert "1 ids stand twice in the manifest" in refused(ids(tmp_path / "d", [3, 1], [3], [0, 8]))
    assert "1 ids stand twice in the source: 3" in refused(good, source, twice)
    assert "holds 1 / 1 / 1 ids, the split has 2 / 1 / 2" in refused(ids(tmp_path / "s", [3], [1], [2]))
    assert "id manifest is missing" in refused(tmp_path / "absent")
    assert "no split is called 'best'. known: published, ratio" in refused(good, split="best")
    assert "does not exist" in refused(good, tmp_path / "c.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    assert "no readable Parquet file" in refused(good, tmp_path / "bad.parquet")


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", [each.name for each in datasets()])
def test_every_sample_is_complete_the_same_each_time_and_loads(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    if name == "alfworld":
        pytest.importorskip("alfworld", reason='the games need pip install "skillopt[alfworld]"')
    written = api.get(name, Request(output=tmp_path / "sample"), sample=True)
    assert min(written.sizes) >= 4
    first = tree(tmp_path)
    assert tree(api.get(name, Request(output=tmp_path / "sample"), sample=True).directory.parent) == first
    assert api.check(name, written.directory)[0].problems == []
    (written.directory / "val/items.json").write_text("[]")
    assert "its bytes are not those that were written" in api.check(name, written.directory)[0].problems[0]


def test_a_foreign_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    with pytest.raises(DataError, match="was not written by this command"):
        api.get("docvqa", Request(output=tmp_path / "mine"), sample=True)
    assert [p.name for p in tmp_path.rglob("*")] == ["mine", "notes.txt"]


def test_what_a_kill_left_is_removed_by_the_next_try(tmp_path: Path) -> None:
    (tmp_path / ".set.partial").mkdir()
    (tmp_path / ".set.partial/half").write_text("")
    with whole(tmp_path / "set") as place:
        assert list(place.iterdir()) == []
        (place / "split_manifest.json").write_text(json.dumps({}))
    with pytest.raises(KeyboardInterrupt), whole(tmp_path / "set") as place:
        (place / "other").write_text("")
        raise KeyboardInterrupt
    assert sorted(os.listdir(tmp_path)) == ["set"]
    assert os.listdir(tmp_path / "set") == ["split_manifest.json"]


def test_an_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'docvqa'"):
        api.get("docvqq", Request(output=tmp_path / "x"), sample=True)
