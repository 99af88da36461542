"""SearchQA's items joined with the published ids, through the command line as documented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.cli.main import invoke
from skillopt.envs.datasets.dataset import Sizes
from skillopt.envs.registry import create_env
from skillopt.envs.searchqa.data import DATASET

from ..conftest import Config, split_dir, write
from ..datasets.hub_server import COMMIT, Hub, serving


def line(key: str) -> str:
    return json.dumps({"key": key, "question": f"Q {key}?", "context": "[DOC] é", "answers": [key], "labels": [1]})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ids as published, a working directory, and a cache of the hub's library of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(type(DATASET), "splits", {"published": Sizes(2, 1, 2)})
    split_dir(
        tmp_path / "data/searchqa_id_split", [{"id": "k3"}, {"id": "k1"}], [{"id": "k2"}], [{"id": "k0"}, {"id": "k5"}]
    )
    return tmp_path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first = write(tmp_path / "train.jsonl", "\n".join(line(f"k{n}") for n in range(4)) + "\n")
    second = write(tmp_path / "validation.jsonl", "\n".join(line(f"k{n}") for n in range(4, 9)) + "\n")
    return first, second


def test_joined_over_all_source_files_in_manifest_order(place: Path, files: tuple[Path, Path]) -> None:
    assert invoke(["data", "get", "searchqa", "--source", str(files[0]), "--source", str(files[1])]) == 0
    out = place / "data/searchqa_split"
    assert json.loads((out / "train/items.json").read_text()) == [
        {"id": k, "question": f"Q {k}?", "context": "[DOC] é", "answers": [k]} for k in ("k3", "k1")
    ]
    env = create_env("searchqa", Config(split_mode="split_dir", split_dir=str(out)), {})
    assert [item.id for item in env.load().test] == ["k0", "k5"]


def test_from_the_hub_with_its_commit_recorded(
    place: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(place / "cache"))
    held = {f"data/{path.name}": path.read_bytes() for path in files}
    with serving(Hub(DATASET.repo, held)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert invoke(["data", "get", "searchqa"]) == 0
    manifest = json.loads((place / "data/searchqa_split/split_manifest.json").read_text())
    assert (manifest["revision"], manifest["counts"]) == (COMMIT, {"train": 2, "val": 1, "test": 2})
    assert manifest["lookup"] == "key" and set(manifest["files"]) == set(held)
    assert invoke(["data", "check", "searchqa"]) == 0
    shown = capsys.readouterr()
    assert "searchqa: data/searchqa_split: in order" in shown.out
    assert "licence" in shown.out and "SearchQA: see the data set's card" in shown.err


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([{"id": "x0"}, {"id": "x1"}], "2 ids of data/searchqa_id_split are not in the source: x0, x1"),
        ([{"id": "k1"}, {"id": "k9"}], "1 ids stand twice in the manifest data/searchqa_id_split: k1"),
    ],
)
def test_what_is_missing_or_twice_is_named(
    ids: list[dict[str, str]], said: str, place: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write(place / "data/searchqa_id_split/test/items.json", ids)
    assert invoke(["data", "get", "searchqa", "--source", str(files[0]), "--source", str(files[1])]) == 2
    errors = [text for text in capsys.readouterr().err.splitlines() if text.startswith("error: ")]
    assert len(errors) == 1 and said in errors[0]
    assert not (place / "data/searchqa_split").exists()


def test_a_bad_row_is_named_with_its_place(
    place: Path, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(files[0].read_text().replace('"answers": ["k1"]', '"answers": []'))
    assert invoke(["data", "get", "searchqa", "--source", str(files[0]), "--source", str(files[1])]) == 2
    assert "train.jsonl, line 2 (id 'k1'): field 'answers' must be a list" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["data", "get", "searchqa"], ["data", "check", "searchqa"]])
def test_what_is_not_there_names_the_next_step(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(command) == 2
    said = capsys.readouterr().err
    assert "--split ratio" in said or "run: skillopt data get searchqa" in said
    assert invoke(["data", "list"]) == 0 and invoke(["data", "check"]) == 0
    assert "no benchmark's data is here" in capsys.readouterr().out
