"""Comparisons of skills under models: what `skillopt compare` wrote, with claims that hold all at once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from skillopt.gate.interval import mean_interval
from skillopt_webui.settings import Settings
from tests.webui.pages import client_of

HOSTILE = "</td><script>x</script>\x1b[31m\u202e"


def written(place: Path, *, fault: str = "") -> Path:
    """A comparison as the grid writes it: two skills under two targets on ten items."""
    place.mkdir(parents=True)
    items = [f"item {n}" for n in range(10)]
    right = {("old", "a"): 2, ("new", "a"): 9, ("old", "b"): 2, ("new", "b"): 3}
    lost = ("b",) if fault else ()
    cells = [
        {"skill": skill, "target": target, "cost": 0.25, "calls": 10, "fault": fault if target in lost else "",
         "scores": {item: float(n < right[skill, target]) for n, item in enumerate(items) if target not in lost}}
        for skill, target in right
    ]  # fmt: skip
    body = {"directory": "/elsewhere", "skills": {"old": "h1", "new": "h2"}, "cost": 1.0, "cells": cells,
            "scores": [{"name": "a lie", "mean": 1.0}], "pairs": []}  # fmt: skip
    (place / "compare.json").write_text(json.dumps(body))
    return place / "compare.json"


def opened(root: Path):
    client = client_of(Settings(roots=(root,)))
    listed = client.get("/compare").text
    return client, re.findall(r'href="(/compare/grid\?of=[^"]+)"', listed), listed


def test_the_grid_shows_what_its_items_say_with_intervals_that_hold_together(tmp_path: Path) -> None:
    written(tmp_path / "deep" / "compare_1")
    client, links, _ = opened(tmp_path)
    page = client.get(links[0]).text
    assert "<b>0.200</b>" in page and "<b>0.900</b>" in page and "<b>0.300</b>" in page
    assert "a lie" not in page and "/elsewhere" not in page and str(tmp_path) not in page
    low, high = mean_interval([0.0] * 3 + [1.0] * 7, alpha=0.05 / 4)
    assert f"[{low:+.3f}, {high:+.3f}]" in page, "old to new under a: seven won; four pairs differ in one thing"
    assert "The 4 intervals and p-values hold all at once" in page
    assert page.count('class="s0"') + page.count('class="s4"') == 40
    differ = client.get(f"{links[0]}&differ=1").text
    assert "1 to 7 of 7" in differ, "items 2 to 8 are answered differently"


def test_a_column_that_could_not_be_measured_says_why_as_text(tmp_path: Path) -> None:
    written(tmp_path / "compare_1", fault=HOSTILE)
    client, links, _ = opened(tmp_path)
    page = client.get(links[0]).text
    assert "could not be measured" in page and "&lt;script&gt;" in page
    assert "<script>x" not in page and "\x1b" not in page and "\u202e" not in page


@pytest.mark.parametrize(
    "broken",
    [b"", b"[]", b"{", b'{"skills": {}, "cells": 3}', b'{"skills": {"a": "h"}, "cells": []}', b"\xff\xfe",
     b'{"skills": {}, "cells": [{"skill": "a", "target": "b", "scores": {"x": NaN}}]}'],
)  # fmt: skip
def test_a_damaged_file_costs_its_own_line(tmp_path: Path, broken: bytes) -> None:
    written(tmp_path / "whole")
    written(tmp_path / "broken").write_bytes(broken)
    client, links, listed = opened(tmp_path)
    assert len(links) == 1 and "damaged" in listed
    assert client.get(links[0]).status_code == 200


def test_no_comparison_outside_of_the_roots_is_reached(tmp_path: Path) -> None:
    written(tmp_path / "secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    client, links, listed = opened(tmp_path / "root")
    assert not links and "No such comparison yet." in listed
    for wanted in ("../secret", "%2e%2e%2fsecret", "", "x" * 5000):
        assert client.get("/compare/grid", params={"of": wanted}).status_code == 404
