"""The page: self-contained, without scripts, hostile content as text, light for a large run."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from skillopt.api.looking import look, view
from skillopt.cli.main import invoke
from skillopt.core.skill import Skill
from skillopt.records.reading import open_run
from skillopt.views.brief import beside_steps
from skillopt.views.drawn.chart import curve
from skillopt.views.drawn.page import page
from tests.records.recorded import FIRST, NOW

HOSTILE = "</td></details><script>alert(1)</script><img src=x onerror=alert(2)>\x00\u202e{{ 7*7 }}&\"'"
_VOID = {"meta", "line", "polyline", "path"}


class Reader(HTMLParser):
    """Every tag with its attributes; raises where tags are not nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


def checked(html: str) -> Reader:
    reader = Reader(html)
    names = {name for name, _ in reader.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "form", "base"}
    attributes = [(key, value or "") for _, found in reader.tags for key, value in found.items()]
    assert not [key for key, _ in attributes if key.startswith("on") or key == "src"]
    assert all(value.startswith("#i") or value in LINKS for key, value in attributes if key == "href")
    anchors = {value for key, value in attributes if key == "id"}
    assert all(value[1:] in anchors for key, value in attributes if key == "href")
    assert "http:" not in html and "https:" not in html and "url(" not in html
    return reader


LINKS = {"#course", "#lineage", "#skill", "#items", "#flips", "#worth", "#cost"}


@pytest.mark.parametrize("root", [*sorted(NOW.iterdir()), FIRST / "epochs"], ids=lambda p: f"{p.parent.name}-{p.name}")
def test_recorded_runs_have_a_page(root):
    seen = look(root)
    reader = checked(page(seen))
    for words in (seen.headline, "Do this next", "Items by step", "Cost"):
        assert words in reader.text
    for each in seen.changed:
        assert each.name in reader.text
    dots = [tag for tag, _ in reader.tags if tag == "circle"]
    gains = len(seen.floor.gains) if seen.floor is not None else 0
    drawn = [p for p in (*seen.course, *beside_steps(seen.nodes)) if p.score is not None]
    assert len(dots) == len(drawn) + len(seen.nodes) + gains


def _poisoned(root: Path) -> Path:
    """A copy of a recorded run in which models and items have written what they should not."""
    shutil.copytree(NOW / "epochs", root)
    for path in root.rglob("results.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row |= {"question": HOSTILE, "predicted_answer": HOSTILE, "fail_reason": HOSTILE, "task_type": HOSTILE}
            row["id"] += HOSTILE
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    summary = json.loads((root / "summary.json").read_text())
    summary |= {"verdict": HOSTILE, "stopped": HOSTILE, "models": {HOSTILE: HOSTILE}}
    (root / "summary.json").write_text(json.dumps(summary))
    (root / "best_skill.md").write_text(HOSTILE.replace("\x00", "") + "\n")
    return root


def test_hostile_content_is_shown_as_text(tmp_path):
    html = page(look(_poisoned(tmp_path / "run")))
    reader = checked(html)
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>··{{ 7*7 }}" in reader.text
    assert "\x00" not in html and "\u202e" not in html


def _large(root: Path, steps: int, items: int) -> Path:
    """A recorded run whose steps and items are repeated until there are so many."""
    shutil.copytree(NOW / "strict", root)
    run = open_run(root)
    records = [dataclasses.replace(run.steps[n % len(run.steps)], step=n + 1) for n in range(steps)]
    (root / "history.json").write_text(json.dumps([r.to_json() for r in records]))
    source = (root / "selection_eval_baseline/results.jsonl").read_text().splitlines()
    rows = [
        json.loads(source[n % len(source)]) | {"id": f"item-{n}", "question": "long words " * 300} for n in range(items)
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    places = [f"steps/step_{n + 1:04d}/{kind}" for n in range(steps) for kind in ("selection_eval", "rollout")]
    for place in ("selection_eval_baseline", *places):
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / "results.jsonl").write_text(text)
    return root


@pytest.mark.parametrize("steps", [pytest.param(40, marks=pytest.mark.slow_campaign), 4])
def test_a_run_of_two_hundred_items_is_light(tmp_path, steps):
    root = _large(tmp_path / "run", steps, 200)
    html = page(look(root))
    checked(html)
    assert len(html.encode()) < 3_000_000


def test_the_command_writes_the_page_and_says_where(tmp_path, capsys):
    shutil.copytree(NOW / "paired", tmp_path / "run")
    assert invoke(["view", str(tmp_path / "run")]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == tmp_path / "run/logs/view.html" and path.read_text() == page(look(tmp_path / "run"))
    assert view(tmp_path / "run", tmp_path / "mine.html").read_text() == path.read_text()
    assert Skill(open_run(tmp_path / "run").best.text) == open_run(NOW / "paired").best


def test_the_best_score_rises_where_the_candidate_that_raised_it_stands():
    """In this run notes, a meta reflection and a slow update raised it, between the steps."""
    seen = look(NOW / "epochs")
    drawn = str(curve(seen.course, beside_steps(seen.nodes)))
    (line,) = re.findall(r'class="best" points="([^"]+)"', drawn)
    heights = [float(point.partition(",")[2]) for point in line.split()]
    risen = [float(score) for score in dict.fromkeys(round(1 - (y - 10) / 186, 2) for y in heights)]
    assert risen == [0.33, 0.42, 0.67, 0.83, 0.92]
    assert heights == sorted(heights, reverse=True)
