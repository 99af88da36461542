"""Twenty tasks, a target that forgets the boxes a skill tells it to forget, and a repository around a suite."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from skillopt.testing.toy import toy_item

ITEMS = [toy_item(n) for n in range(20)]
GOOD = "# Boxes\n\nName what the box holds.\n"
SCRIPT = '''
import re

def respond(request):
    """Says what a box holds, unless the skill says FORGET <number>."""
    skill = "".join(m.content for m in request.messages if m.role == "system")
    question = request.messages[-1].content
    found = re.search(r"Box (\\d+) ", question)
    box = found[1] if found else ""
    if not box:
        return "ready"
    if "Name what" not in skill or box in re.findall(r"FORGET (\\d+)", skill):
        return "unknown"
    return re.search(r"holds ([\\w-]+)", question)[1]
'''
DOWN = """
from skillopt.core.errors import FatalModelError

def respond(request):
    raise FatalModelError("HTTP 401: no such key")
"""
PARTLY = SCRIPT.replace("import re", "import re\nfrom skillopt.core.errors import DeadlineExceeded").replace(
    '    if "Name', '    if box in ("18", "19"):\n        raise DeadlineExceeded("too late")\n    if "Name'
)
"""Two of twenty boxes are never answered."""
CONFIG = """
env: {name: jsonl, prompt_template: "{{ question }}", scorer: exact}
model: {backend: scripted, scripted_script: SCRIPT}
"""


def forgetting(*boxes: int) -> str:
    """The good skill with lines that lose these boxes."""
    return GOOD + "".join(f"FORGET {box}\n" for box in boxes)


async def obedient(messages: list[dict[str, Any]]) -> str:
    """The same target as a function of a program."""
    skill = "".join(m["content"] for m in messages if m["role"] == "system")
    question = messages[-1]["content"]
    if "Name what" not in skill or f"FORGET {question.split()[1]}\n" in skill + "\n":
        return "unknown"
    return question.split("holds ")[1].split(".")[0]


def write_suite_of(root: Path, *, name: str = "boxes", count: int = 20) -> Path:
    """`skills/<name>/SKILL.md` and `suites/<name>`, as `check --as-suite` lays them out; returns the suite."""
    skill = root / "skills" / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(GOOD)
    suite = root / "suites" / name
    for split, rows in (("train", [toy_item(100), toy_item(101)]), ("val", [toy_item(102), toy_item(103)]),
                        ("test", [toy_item(n) for n in range(count)])):  # fmt: skip
        (suite / "items" / split).mkdir(parents=True)
        (suite / "items" / split / "items.json").write_text(json.dumps(rows))
    (suite / "script.py").write_text(SCRIPT)
    (suite / "config.yaml").write_text(CONFIG.replace("SCRIPT", str(suite / "script.py")))
    (suite / "baseline.md").write_text(GOOD)
    (suite / "suite.yaml").write_text(f"skill: ../../skills/{name}\nbaseline: baseline.md\nfixed: [box-3, box-4]\n")
    return suite


def git(place: Path, *arguments: str) -> None:
    """Git without anybody's configuration."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    named = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *named, *arguments], cwd=place, env=environ, check=True, capture_output=True)


def commit_all(place: Path) -> None:
    """Make the directory a repository whose branch `main` holds everything."""
    if not (place / ".git").exists():
        git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "state")
