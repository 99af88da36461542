"""The frame: recorded runs are listed and can be opened, what is not there says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from skillopt_webui.server import build
from skillopt_webui.settings import Settings

RECORDED = Path(__file__).parents[1] / "recorded" / "2"


@pytest.fixture(scope="module")
def client():
    with TestClient(build(Settings(roots=(RECORDED,))), base_url="http://127.0.0.1") as made:
        yield made


def test_recorded_runs_are_listed_and_open(client: TestClient) -> None:
    listed = client.get("/")
    assert listed.status_code == 200
    for path in sorted(RECORDED.iterdir()):
        if path.is_dir() and (path / "best_skill.md").exists():
            assert f">{path.name}</a>" in listed.text
    address = listed.text.split('href="/run/strict-')[1].split('"')[0]
    page = client.get(f"/run/strict-{address}")
    assert page.status_code == 200
    assert page.url.path.endswith("/watch")
    assert ">strict</h1>" in page.text


def test_what_is_not_there_is_a_page_that_says_so(client: TestClient) -> None:
    assert client.get("/run/strict-0000000000").status_code == 404
    assert "there is no such run here" in client.get("/run/strict-0000000000").text
    assert "There is no such page." in client.get("/nothing").text
    assert client.get("/run/..%2f..%2fetc/watch").status_code == 404


def test_an_empty_root_says_how_runs_come(tmp_path: Path) -> None:
    with TestClient(build(Settings(roots=(tmp_path / "outputs",))), base_url="http://localhost") as client:
        assert "No runs yet." in client.get("/").text
