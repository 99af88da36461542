"""Sets whose files the user brings (OfficeQA's bulletins, ALFWorld's games), and what `data check` says about ids."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.core.errors import DataError
from skillopt.envs.alfworld.data import ALFWorldData
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.officeqa.data import OfficeQAData

from ..conftest import split_dir


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (OfficeQAData, ALFWorldData):
        monkeypatch.setattr(kind, "splits", {"published": Sizes(2, 1, 2)})


def named(root: Path, *splits: list[dict[str, Any]]) -> Path:
    return split_dir(root, *splits)


def questions(path: Path, numbers: list[int]) -> Path:
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["uid", "question", "ground_truth", "category", "source_files", "source_docs"])
        out.writerows([f"U{n}", f"What was figure {n}?", n, "easy", "b.txt", ""] for n in numbers)
    return path


def test_officeqa_is_joined_with_its_ids_or_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.txt").write_text("figure 1: 1\n")
    monkeypatch.setenv("OFFICEQA_DOCS_DIR", str(tmp_path / "docs"))
    source = questions(tmp_path / "officeqa_full.csv", list(range(9)))

    def ids(*splits: list[int]) -> Path:
        return named(tmp_path / f"ids{splits}", *[[{"id": f"U{n}", "uid": f"U{n}"} for n in each] for each in splits])

    written = api.get("officeqa", Request(output=tmp_path / "o", manifest_dir=ids([3, 1], [2], [0, 8]),
                                          sources=(source,)))  # fmt: skip
    assert written.manifest["ids"] == {"train": ["U3", "U1"], "val": ["U2"], "test": ["U0", "U8"]}
    assert api.check("officeqa", written.directory)[0].problems == []
    cut = api.get("officeqa", Request(split="ratio", output=tmp_path / "r", sources=(source,), ratio="1:1:1"))
    assert tuple(cut.sizes) == (3, 3, 3)
    with pytest.raises(DataError, match=r"2 ids of .* are not in the source: U70, U71"):
        api.get("officeqa", Request(output=tmp_path / "x", manifest_dir=ids([70, 1], [2], [0, 71]), sources=(source,)))
    with pytest.raises(DataError, match="1 ids stand twice in OfficeQA: U3"):
        twice = questions(tmp_path / "twice.csv", [0, 1, 2, 3, 3])
        api.get("officeqa", Request(split="ratio", output=tmp_path / "x", sources=(twice,)))
    assert not (tmp_path / "x").exists()


def test_alfworlds_split_is_of_the_games_that_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("alfworld")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "games"))
    with pytest.raises(DataError, match=r"are not there.*alfworld-download"):
        api.get("alfworld", Request(output=tmp_path / "s"))
    names = [f"json_2.1.1/train/pick_and_place_simple-{n}/trial/game.tw-pddl" for n in range(10)]
    for name in names:
        (tmp_path / "games" / name).parent.mkdir(parents=True)
        (tmp_path / "games" / name).write_text("{}")
    cut = api.get("alfworld", Request(split="ratio", output=tmp_path / "s"))
    assert tuple(cut.sizes) == (2, 1, 7)
    item = json.loads((tmp_path / "s/train/items.json").read_text())[0]
    assert item["id"] == "train:0000" and item["task_type"] == "pick_and_place" and item["gamefile"] in names
    # What was written is a manifest itself, and a published one that lies at its place is taken where it lies.
    rows = [{"id": f"i{n}", "gamefile": name, "task_type": "pick_and_place"} for n, name in enumerate(names)]
    place = named(tmp_path / "paths", rows[:2], rows[2:3], rows[3:5])
    (place / "split_manifest.json").write_text("{}")
    again = api.get("alfworld", Request(output=place, manifest_dir=place))
    assert tuple(again.sizes) == (2, 1, 2) and api.check("alfworld", place)[0].problems == []
    (tmp_path / "games" / names[4]).unlink()
    with pytest.raises(DataError, match=r"1 ids of .* are not in the source: .*simple-4"):
        api.get("alfworld", Request(output=tmp_path / "x", manifest_dir=place))


def test_check_names_the_ids_that_are_missing_or_stand_twice(tmp_path: Path) -> None:
    written = api.get("livemathematicianbench", Request(output=tmp_path / "set"), sample=True)
    train, test = written.directory / "train/items.json", written.directory / "test/items.json"
    rows, others = json.loads(train.read_text()), json.loads(test.read_text())
    names = [row["id"] for row in rows]
    test.write_text(json.dumps([*others, rows[0]]))
    train.write_text(json.dumps(rows[7:]))
    said = "\n".join(api.check("livemathematicianbench", written.directory)[0].problems)
    assert f"7 ids of its manifest are missing: {', '.join(names[:5])}, …" in said
    test.write_text(json.dumps([*others, rows[8]]))
    said = "\n".join(api.check("livemathematicianbench", written.directory)[0].problems)
    assert f"1 ids stand twice: {names[8]}" in said
