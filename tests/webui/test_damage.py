"""Damaged files of a run: every page of it says so or shows what is left, and no other run's line is lost by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skillopt_webui.filters import OURS
from skillopt_webui.pages.all import TABS
from skillopt_webui.runs import id_of
from skillopt_webui.settings import Settings
from tests.webui.pages import CONFIGS, RECORDED, client_of

FILES = ("logs/events.jsonl", "logs/control.jsonl", "logs/pulse.json", "review/review.json", "history.json",
         "runtime_state.json", "config.json", "summary.json", "items.jsonl", "best_skill.md")  # fmt: skip
DAMAGE = {
    "nested": b"[" * 100_000 + b"\n",
    "bytes": bytes(range(256)),
    "empty": b"",
    "other": b'[{"seq": 1e999}]\n',
    "cut": None,
}


@pytest.mark.cases(10)
@pytest.mark.parametrize(("damage", "file"), [(damage, file) for damage in DAMAGE for file in FILES])
def test_a_damaged_file_is_no_fault_of_the_dashboard(tmp_path: Path, file: str, damage: str) -> None:
    run = tmp_path / "läuft 测试"
    shutil.copytree(RECORDED / "strict", run)
    path = run / file
    path.parent.mkdir(exist_ok=True)
    before = path.read_bytes() if path.exists() else b"{}"
    content = DAMAGE[damage]
    path.write_bytes(before[: len(before) // 2] if content is None else content)
    client = client_of(Settings(roots=(tmp_path,), configs=(CONFIGS,)))
    for tab in TABS:
        assert client.get(f"/run/{id_of(run)}/{tab.slug}").status_code in (200, 404), tab.slug
    assert "läuft 测试" in client.get("/").text


@pytest.mark.parametrize("value", [1e300, -1e300, float("inf"), float("-inf"), float("nan"), 10**400])
def test_figures_beyond_all_measure_are_a_dash(value: float) -> None:
    for name in ("duration", "count", "stamp"):
        assert OURS[name](value) == "–", name
    assert OURS["count"](10**12) == "1,000,000,000,000"
    assert OURS["duration"](3 * 3600) == "3 h"
