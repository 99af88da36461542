"""A project whose scripted target obeys rules, with skills that help, harm and do nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.testing.toy import toy_item

CONFIG = """
env:
  name: jsonl
  data_path: {data}
  split_mode: ratio
  split_ratio: "1:1:2"
  prompt_template: "{{{{ question }}}}"
  scorer: exact
  skill_init: skill.md
model:
  backend: scripted
"""
RULES = "".join(f"RULE {kind}: name what the box holds.\n" for kind in range(8))


def write_project(place: Path, *, count: int = 80) -> Path:
    """A project in a directory of its own: 20 train, 20 selection and 40 test items, five of each kind."""
    place.mkdir()
    rows = "".join(json.dumps(toy_item(n)) + "\n" for n in range(count))
    (place / "tasks.jsonl").write_text(rows)
    (place / "config.yaml").write_text(CONFIG.format(data=place / "tasks.jsonl"))
    (place / "skill.md").write_text(RULES)
    (place / "half.md").write_text("".join(RULES.splitlines(keepends=True)[:4]))
    (place / "worse.md").write_text(RULES + "".join(f"AVOID {kind}\n" for kind in range(4)))
    (place / "reworded.md").write_text("# Boxes\n" + RULES)
    return place


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test."""
    place = write_project(tmp_path / "project")
    monkeypatch.chdir(place)
    return place
