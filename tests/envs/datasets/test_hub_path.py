"""`hf://…` wherever a file of items is asked for: fetched, pinned, found again without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillopt
from skillopt.api.given.configuring import configuration
from skillopt.api.project.projects import ProjectRequest, make_project
from skillopt.core.errors import DataError
from skillopt.envs.data.hub_path import hub_file
from skillopt.testing.toy import toy_item

from .hub_server import COMMIT, Hub, serving

pytest.importorskip("huggingface_hub")

ROWS = "".join(json.dumps(toy_item(n)) + "\n" for n in range(60)).encode()
PINNED = f"hf://a/b@{COMMIT}/data/tasks.jsonl"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with serving(Hub("a/b", {"data/tasks.jsonl": ROWS, "notes.txt": b"x"})) as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


@pytest.mark.parametrize(
    "asked", ["hf://a/b", "hf://datasets/a/b", "hf://a/b@main", "hf://a/b/data/tasks.jsonl", "hf:/a/b@main"]
)
def test_an_address_is_a_file_of_one_commit(hub: Hub, asked: str) -> None:
    found = hub_file(asked)
    assert found.path.read_bytes() == ROWS and found.address == PINNED
    assert found.note == f"a/b: revision main is commit {COMMIT}; {PINNED} stays with it"


def test_a_pinned_file_is_found_again_without_a_network(hub: Hub) -> None:
    first = hub_file(PINNED)
    assert first.note == ""
    hub.asked.clear()
    assert hub_file(PINNED) == first and hub.asked == []


def test_what_is_no_one_file_is_one_line_that_names_some(hub: Hub) -> None:
    with pytest.raises(DataError, match=r"write hf://org/name@revision/path"):
        hub_file("hf://a")
    hub.files = {"train.csv": b"q\n", "test.csv": b"q\n"}
    with pytest.raises(
        DataError, match=r"holds 2 item files \(test.csv, train.csv\)\. name one: hf://a/b@main/test.csv"
    ):
        hub_file("hf://a/b")
    with pytest.raises(DataError, match=r"lists no file nosuch\.csv"):
        hub_file("hf://a/b/nosuch.csv")


def test_a_project_gets_a_copy_and_says_of_what(hub: Hub, tmp_path: Path) -> None:
    made = make_project(ProjectRequest(tmp_path / "p", Path("hf://a/b")))
    assert (tmp_path / "p/data/tasks.jsonl").read_bytes() == ROWS
    assert f"data/tasks.jsonl: a copy of {PINNED}" in made.said and made.train + made.selection + made.test == 60


def test_a_configuration_and_python_take_the_address(hub: Hub, tmp_path: Path) -> None:
    result = skillopt.optimize(
        f"hf://a/b@{COMMIT}",
        scorer="exact",
        target="scripted",
        out=tmp_path / "run",
        gate="strict",
        overrides={"train.num_epochs": 1},
    )
    (tmp_path / "c.yaml").write_text(result.config_yaml())
    assert configuration("c.yaml", []).config.env.data_path == PINNED
    manifest = next((tmp_path / "run").rglob("split_manifest.json"))
    assert json.loads(manifest.read_text())["source"] == PINNED
