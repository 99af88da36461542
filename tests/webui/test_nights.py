"""Nights of the companion: listed where only this machine reaches the server, read-only, with their review to keep."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from skillopt.sleep.state.projects import remember
from skillopt_webui.settings import Settings
from tests.sleep.test_adoption import N1, A, Desk
from tests.webui.pages import client_of


def test_a_night_is_listed_with_its_rules_and_its_review_and_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    desk.stage(N1, [A])
    facts = {"verdict": "accepted", "spend": {"calls": 4, "tokens": 900, "minutes": 1.5}}
    (desk.paths.staging / N1 / "report.json").write_text(json.dumps(facts))
    remember(desk.paths, now=1.0)
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(tmp_path / "state"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    client = client_of(Settings(roots=(tmp_path / "outputs",), nights=True))
    page = client.get("/nights").text
    assert A.text in unescape(page) and "waits for you" in page and ">shop<" in page
    (link,) = re.findall(r'href="(/nights/review[^"]+)"', page)
    kept = client.get(unescape(link))
    assert kept.status_code == 200 and kept.headers["content-disposition"].endswith(f'"night-{N1}.html"')
    assert client.get("/nights/review", params={"project": "/etc", "night": N1}).status_code == 404
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (desk.paths.staging / N1 / "manifest.json").write_bytes(b"{")
    assert "unreadable" in client.get("/nights").text


def test_where_they_are_not_shown_there_is_nothing_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    desk.stage(N1, [A])
    remember(desk.paths, now=1.0)
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(tmp_path / "state"))
    client = client_of(Settings(roots=(tmp_path / "outputs",)))
    assert "/nights" not in client.get("/").text
    assert A.text not in unescape(client.get("/nights").text)
    assert client.get("/nights/review", params={"project": str(desk.project), "night": N1}).status_code == 404
