"""Views to understand a run by answer for recorded runs, act only with a form token, and name no place outside."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from skillopt.core.errors import RunDirError
from skillopt.records.beside.review import MEASURED
from skillopt.records.events import RunEnd, StepEnd
from skillopt.records.live.following import Follower
from skillopt.records.reading import open_run
from skillopt.store.lock import RunLock
from skillopt_webui.runs import Runs
from skillopt_webui.server import build
from skillopt_webui.settings import Settings
from skillopt_webui.understand.shelf import Shelf
from skillopt_webui.understand.tabs import TABS
from skillopt_webui.watch.seen import Seen
from tests.records.recorded import NOW


@pytest.fixture
def client(tmp_path: Path):
    for name in ("paired", "no_baseline"):
        shutil.copytree(NOW / name, tmp_path / "outputs" / name)
    with TestClient(build(Settings(roots=(tmp_path / "outputs",))), base_url="http://127.0.0.1") as made:
        yield made


def page_of(client: TestClient, name: str) -> str:
    return re.search(rf"/run/{name}-[0-9a-f]{{10}}", client.get("/").text)[0]


@pytest.mark.parametrize("name", ["paired", "no_baseline"])
def test_every_view_answers(client: TestClient, name: str) -> None:
    base = page_of(client, name)
    for tab in TABS:
        answer = client.get(f"{base}/{tab.slug}")
        assert answer.status_code == 200 and f'aria-current="page">{tab.title}' in answer.text, tab.slug
    assert client.get(f"{base}/skill?version=0&against=best").status_code == 200
    saved = client.get(f"{base}/result/file.html")
    assert saved.headers["content-disposition"].endswith(f'filename="{name}.html"') and "<script" not in saved.text


def test_a_review_is_measured_by_one_process_however_often_it_is_asked_for(tmp_path: Path) -> None:
    shutil.copytree(NOW / "paired", tmp_path / "run")
    run, shelf, started = open_run(tmp_path / "run"), Shelf(), list[subprocess.Popen[bytes]]()

    def start(root: Path) -> subprocess.Popen[bytes]:
        assert root == run.root
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[-1]

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: shelf.measure(run, start), range(8)))
        assert len(started) == 1 and shelf.measures(run)
    finally:
        started[0].kill()
        started[0].wait()
    with RunLock(run.root / MEASURED):  # somebody measures it on the command line
        shelf.measure(run, start)
    assert len(started) == 1 and not shelf.measures(run)


def test_a_run_that_became_a_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    shutil.copytree(NOW / "paired", tmp_path / "outputs" / "run")
    shutil.copytree(NOW / "paired", tmp_path / "elsewhere")
    runs = Runs((tmp_path / "outputs",))
    run_id = runs.rows()[0][0]
    assert runs.open(run_id).run is not None
    shutil.rmtree(tmp_path / "outputs" / "run")
    (tmp_path / "outputs" / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunDirError, match="no such run"):
        runs.open(run_id)


def test_a_root_that_is_a_link_shows_its_runs(tmp_path: Path) -> None:
    shutil.copytree(NOW / "paired", tmp_path / "real" / "run")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked, real = Runs((tmp_path / "link",)), Runs((tmp_path / "real",))
    assert [run_id for run_id, _ in linked.rows()] == [run_id for run_id, _ in real.rows()] != []


@pytest.mark.parametrize("root", sorted(NOW.glob("*/summary.json")), ids=lambda p: p.parent.name)
def test_the_watched_best_score_is_that_of_the_result(root: Path) -> None:
    seen = Seen()
    for event in Follower(root.parent).new():
        seen.take(event)
    summary = open_run(root.parent).summary
    assert summary is not None and (seen.best == summary.best_gate_score or summary.stopped)


def test_a_best_skill_that_the_end_of_the_run_proved_is_shown_with_its_score() -> None:
    told = {type(e): e for e in Follower(NOW / "strict").new()}
    seen, end = Seen(), told[RunEnd]
    seen.take(told[StepEnd])
    seen.take(replace(end, summary=replace(end.summary, best_gate_score=0.9875)))
    assert seen.best == 0.9875


def test_a_finished_measurement_is_no_unfinished_run(client: TestClient, tmp_path: Path) -> None:
    for name in ("eval_summary.json", "selftest.json"):
        place = tmp_path / "outputs" / f"measured_{name[:4]}"
        place.mkdir()
        (place / "run.lock").touch()
        assert f"{place.name}<" in client.get("/").text, "as long as it has no result it may still go on"
        (place / name).write_text("{}", encoding="utf-8")
        assert f"{place.name}<" not in client.get("/").text


def test_a_decision_needs_the_form_token_and_is_written_down(client: TestClient, tmp_path: Path) -> None:
    base = page_of(client, "paired")
    shown = client.get(f"{base}/review").text
    name = re.search(r'name="change" value="([^"]+)"', shown)[1]
    form = {"change": name, "choice": "accept", "by": "Ada"}
    assert client.post(f"{base}/review/decide", data=form).status_code == 403
    token = re.search(r'name="_form" value="([^"]+)"', shown)[1]
    answer = client.post(f"{base}/review/decide", data={**form, "_form": token})
    assert answer.status_code == 200 and "accepted by Ada" in answer.text
    record = open_run(tmp_path / "outputs/paired").review
    assert record.of(name).by == "Ada" and record.accepted
    bad = client.post(f"{base}/review/decide", data={**form, "choice": "change", "text": " ", "_form": token})
    assert bad.status_code == 400 and "the new text is empty" in bad.text
    bad = client.post(f"{base}/review/export", data={"to": "/etc", "_form": token})
    assert bad.status_code == 400 and "is no agent that is known here" in bad.text


def test_the_skill_can_be_taken_home_as_a_package(client: TestClient) -> None:
    answer = client.get(f"{page_of(client, 'paired')}/review/package.zip")
    assert answer.status_code == 200
    with zipfile.ZipFile(io.BytesIO(answer.content)) as package:
        assert any(name.endswith("SKILL.md") for name in package.namelist())


def test_runs_are_compared(client: TestClient) -> None:
    chosen = "&".join(f"run={page_of(client, name).removeprefix('/run/')}" for name in ("paired", "no_baseline"))
    assert "has no sealed test" in client.get(f"/compare?{chosen}").text
    assert "Two runs or more" in client.get("/compare").text
