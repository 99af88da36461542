"""Record small toy runs as test material: `python scripts/record_runs.py tests/recorded/2 [--tree DIR] [NAME …]`.

Readers of runs (report, screens, `skillopt blame`, dashboards) are tested on what a real run wrote, of this version and
of earlier ones. Each run is made by the command line in a scratch directory with relative paths, with the scripted
model, one worker and no network, so recording again changes nothing but clocks under `logs/`. Journals are left out,
and the per-item files under `predictions/` of all runs but one. `--tree` records with another checkout of the project.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
KEPT_WHOLE = "force_accept"
"""The run that keeps its conversations."""

SKILL = """---
name: boxes
description: "Boxes: what they hold"
---
# Boxes

- Look at the box first.
- A line that says nothing.

Answer with one word.
"""

SCRIPT = """
import json, os
from skillopt.core.errors import ModelError
try:
    from skillopt.testing import toy
except ImportError:
    from skillopt.model import toy

CALLS = [0]


def respond(request):
    CALLS[0] += 1
    if CALLS[0] == int(os.environ.get("TOY_DIES_AT", "0")):
        os._exit(9)
    if "TOY_IS_OUT" in os.environ and request.stage != "probe":
        return ModelError("the server is out of order")
    said = toy.respond(request)
    if request.schema is None or "TOY_BAD_EDITS" not in os.environ:
        return said
    reply = json.loads(said)
    patch = reply.get("patch") or {}
    if isinstance(patch.get("edits"), list):
        patch["edits"].insert(0, {"op": "append", "target": None, "content": "- Ring the bell \\x07 twice."})
        leak = {"op": "append", "target": None, "content": "- Box 1 is of kind 1 and holds nothing much at all."}
        patch["edits"].insert(1, leak)
        patch["edits"].append({"op": "delete", "target": "- No such line."})
    return json.dumps(reply)
"""

EVERYTHING = {
    "use_slow_update": True, "use_meta_skill": True, "use_meta_reflect": True, "use_skill_aware_reflection": True,
    "slow_update_samples": 4,
}  # fmt: skip

STRICT: Mapping[str, object] = {"evaluation": {"gate_rule": "strict"}}
SOLVED = SKILL + "".join(f"- RULE {n}\n" for n in range(8))

RUNS: Mapping[str, Mapping[str, object]] = {
    "strict": STRICT,
    "paired": {"evaluation": {"gate_rule": "paired", "gate_alpha": 0.3}, "sizes": {"train": 24, "val": 16, "test": 8},
               "train": {"num_epochs": 2, "batch_size": 8, "seed": 3}},
    "rewrite": {**STRICT, "optimizer": {"skill_update_mode": "rewrite_from_suggestions"}},
    "epochs": {**STRICT, "optimizer": EVERYTHING, "train": {"num_epochs": 3}},
    "vetoed": {**STRICT, "train": {"num_epochs": 1}, "environment": {"TOY_BAD_EDITS": "1"}},
    "no_baseline": {"environment": {"TOY_IS_OUT": "1"}},
    "stopped": {**STRICT, "budget": {"max_calls": 60}},
    "killed": {**STRICT, "environment": {"TOY_DIES_AT": "75"}},
    "solved": {"train": {"num_epochs": 1}, "evaluation": {"gate_rule": "strict"}, "skill": SOLVED},
    "force_accept": {"evaluation": {"gate_rule": "strict", "use_gate": False}, "train": {"num_epochs": 1}},
}  # fmt: skip

_ITEMS = (
    "import json, sys\n"
    "try:\n    from skillopt.testing import toy\n"
    "except ImportError:\n    from skillopt.model import toy\n"
    "print(json.dumps([toy.toy_item(n) for n in range(int(sys.argv[1]))]))\n"
)


def main() -> int:
    """Record what was asked for, all by default. Returns the number of runs that did not come about."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("names", nargs="*", default=list(RUNS), metavar="NAME")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to record with")
    asked = parser.parse_args()
    lost = [name for name in asked.names if not record(name, asked.target / name, asked.tree.resolve())]
    for name in lost:
        print(f"{name}: no run came about", file=sys.stderr)
    return len(lost)


def record(name: str, target: Path, tree: Path) -> bool:
    """Make one run and keep what readers read of it. False when it left no history."""
    plan = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        wanted = plan.get("environment")
        extra = {str(k): str(v) for k, v in wanted.items()} if isinstance(wanted, Mapping) else {}
        environ = {**os.environ, "PYTHONPATH": str(tree), "CI": "1", **extra}
        write_project(here, plan, environ)
        command = [sys.executable, "-m", "skillopt", "train", "--config", "config.yaml", "--yes"]
        with (here / "output.txt").open("w") as stream:
            subprocess.run(command, cwd=here, env=environ, stdout=stream, stderr=subprocess.STDOUT, check=False)
        run = here / "run"
        if not (run / "skills").is_dir():
            sys.stderr.write((here / "output.txt").read_text())
            return False
        keep(run, target, whole=name == KEPT_WHOLE)
    return True


def write_project(here: Path, plan: Mapping[str, object], environ: Mapping[str, str]) -> None:
    """Data, skill, script and configuration of one run, all named relatively."""
    sizes = plan.get("sizes") or {"train": 16, "val": 12, "test": 8}
    assert isinstance(sizes, Mapping)
    count = str(sum(sizes.values()))
    said = subprocess.run(
        [sys.executable, "-c", _ITEMS, count], env=environ, capture_output=True, text=True, check=True
    )
    items = json.loads(said.stdout)
    for split, size in sizes.items():
        (here / "data" / split).mkdir(parents=True)
        (here / "data" / split / "items.json").write_text(json.dumps(items[:size]))
        del items[:size]
    (here / "skill.md").write_text(str(plan.get("skill") or SKILL))
    (here / "script.py").write_text(SCRIPT)
    config: dict[str, dict[str, object]] = {
        "model": {"backend": "scripted", "scripted_script": "script.py"},
        "train": {"num_epochs": 2, "batch_size": 8, "seed": 12},
        "gradient": {"minibatch_size": 4},
        "optimizer": {"learning_rate": 2},
        "evaluation": {},
        "budget": {},
        "env": {
            "name": "jsonl", "split_mode": "split_dir", "split_dir": "data", "answer_field": "answer",
            "prompt_template": "{{ question }}", "workers": 1, "scorer": {"name": "exact"}, "skill_init": "skill.md",
            "out_root": "run",
        },
    }  # fmt: skip
    for section, values in plan.items():
        if section in config and isinstance(values, Mapping):
            config[section].update({str(k): v for k, v in values.items()})
    (here / "config.yaml").write_text(yaml.safe_dump(config))


def keep(run: Path, target: Path, *, whole: bool) -> None:
    """Copy a run without its journal and lock, and without the conversations unless it is kept whole."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = ["journal.sqlite*", "run.lock", *([] if whole else ["predictions"])]
    shutil.copytree(run, target, ignore=shutil.ignore_patterns(*left_out))


if __name__ == "__main__":
    sys.exit(main())
