"""A package whose script must be run to solve the task, and is wrong: only an edit of the script helps.

The optimizer proposes the right edit beside one that would break another script; the target runs the script and answers
with what it prints. Every reply is a pure function of its request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from skillopt.model.types import ChatReply, ChatRequest, ToolCall, Usage
from skillopt.testing import toy

SKILL = (
    "---\nname: thrice\ndescription: Use when a number is to be tripled.\n---\n# Thrice\n\nRun `scripts/thrice.py N`.\n"
)
SCRIPT = (
    "#!/usr/bin/env python3\nimport sys\n\n\ndef thrice(n):\n    return n * 2\n\n\nprint(thrice(int(sys.argv[1])))\n"
)
OTHER = "#!/bin/bash\nif true; then\n  echo yes\nfi\n"
NOTES = "---\ntitle: notes\n---\nNumbers are whole."
FILES = {"SKILL.md": SKILL, "scripts/thrice.py": SCRIPT, "scripts/other.sh": OTHER, "references/notes.md": NOTES,
         "assets/logo.txt": "logo\n"}  # fmt: skip
EDITS: list[dict[str, Any]] = [
    {"op": "replace", "target": "    return n * 2", "content": "    return n * 3"},
    {"op": "delete", "target": "fi", "content": None},
    {"op": "append", "target": "references/notes.md", "content": "They may be negative."},
]
SIZES = {"train": 4, "val": 5, "test": 4}
_PLACE = ".agents/skills/thrice/scripts/thrice.py"


def write_package(place: Path) -> Path:
    """The package on disk, its scripts executable."""
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o755 if name.startswith("scripts/") else 0o644)
    return place


def write_project(root: Path, sizes: Mapping[str, int] = SIZES, **env: Any) -> Path:
    """Items, package and configuration; returns the configuration's path."""
    write_package(root / "skill")
    numbers = iter(range(101, 200))
    for split, count in sizes.items():
        (root / "data" / split).mkdir(parents=True)
        drawn = [next(numbers) for _ in range(count)]
        rows = [{"id": f"n{n}", "question": f"Triple {n}.", "answer": str(n * 3)} for n in drawn]
        (root / "data" / split / "items.json").write_text(json.dumps(rows))
    (root / "script.py").write_text("from tests.engine.packages.task import respond\n\n__all__ = ['respond']\n")
    config = {
        "model": {"backend": "scripted", "scripted_script": str(root / "script.py"), "target_agent": "tool_loop",
                  "exec_skill_delivery": "native"},
        "train": {"num_epochs": 1, "batch_size": 4},
        "optimizer": {"learning_rate": 4, "use_slow_update": False, "use_meta_skill": False},
        "evaluation": {"gate_rule": "strict"},
        "env": {"name": "jsonl", "split_mode": "split_dir", "split_dir": str(root / "data"), "answer_field": "answer",
                "prompt_template": "{{ question }}", "scorer": {"name": "exact"}, "skill_init": str(root / "skill"),
                "skill_files": "scripts/**=body references/**=body", **env},
    }  # fmt: skip
    path = root / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def respond(request: ChatRequest) -> str | ChatReply:
    """Both models."""
    if request.schema is not None:
        return _proposed(request)
    said = [m for m in request.messages if m.role == "tool"]
    if not request.tools:
        return toy.respond(request)
    if not said:
        text = "\n".join(str(m.content) for m in request.messages)
        number = re.search(r"Triple (\d+)", text)
        command = f"cat .agents/skills/thrice/SKILL.md >/dev/null; {_PLACE} {number[1] if number else 0}"
        call = ToolCall("c1", "bash", json.dumps({"command": command}))
        return ChatReply("", "tool_calls", Usage(10, 2), tool_calls=(call,))
    return str(said[-1].content).strip()


def _proposed(request: ChatRequest) -> str:
    if not request.stage.startswith("analyst"):
        return toy.respond(request)
    text = "\n".join(str(m.content) for m in request.messages)
    edits = EDITS if "return n * 2" in text else []
    return json.dumps({"batch_size": 1, "failure_summary": [], "success_patterns": [],
                       "patch": {"reasoning": "the script doubles", "edits": edits}})  # fmt: skip
