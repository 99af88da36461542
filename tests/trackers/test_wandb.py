"""Weights & Biases offline: the run's `.wandb` file, read record by record."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import skillopt

# Looked for and not imported: seconds, which each worker would pay at collection.
pytestmark = pytest.mark.skipif(find_spec("wandb") is None, reason="extra wandb")

BLOCK, HEADER = 32768, 7


def records(path: Path) -> Iterator[Any]:
    """The records of a transaction log: LevelDB's log format after a header of seven bytes."""
    from wandb.proto.wandb_internal_pb2 import Record  # pyright: ignore

    data = path.read_bytes()
    assert data[:4] == b":W&B"
    at, whole = HEADER, b""
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:  # the rest of a block is padding
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + HEADER])
        if kind == 0:
            break
        whole += data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (1, 4):  # a full record, or the last part of one
            yield Record.FromString(whole)
            whole = b""


def items(rows: Any) -> dict[str, Any]:
    return {each.key or ".".join(each.nested_key): json.loads(each.value_json) for each in rows}


def test_the_file_holds_the_run(tmp_path: Path) -> None:
    # In a process of its own: its service is a local socket, which the network guard of this one refuses.
    program = (
        "import sys, pathlib\nfrom tests.trackers.conftest import run\n"
        "settings = {'tracking': 'wandb', 'tracking.wandb_mode': 'offline', 'tracking.wandb_project': 'mine'}\n"
        "result = run(pathlib.Path('run'), overrides=settings)\n"
        "assert result.observer_faults == (), result.observer_faults\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": root, "HOME": str(tmp_path), "WANDB_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = skillopt.Result.load(tmp_path / "run")
    (file,) = tmp_path.rglob("*.wandb")
    found = list(records(file))
    (run,) = [r.run for r in found if r.WhichOneof("record_type") == "run"]
    config = items(run.config.update)
    assert (run.project, run.display_name) == ("mine", "run")
    assert run.run_id == next(result.run.events()).run_id
    assert config["env"] == "jsonl" and config["train.num_epochs"] == "1"
    rows = [items(r.history.item) for r in found if r.WhichOneof("record_type") == "history"]
    steps = [row["step.step"] for row in rows if "step.step" in row]
    assert steps == [record.step for record in result.steps]
    assert any("rollout.hard" in row for row in rows)
    summary: dict[str, Any] = {}
    for record in found:
        if record.WhichOneof("record_type") == "summary":
            summary |= items(record.summary.update)
    assert summary["summary.test.hard"] == result.summary.test.hard and summary["outcome"] == "done"
    saved = [f.path for r in found if r.WhichOneof("record_type") == "files" for f in r.files.files]
    assert {"best_skill.md", "report.md"} <= set(saved)
    (ended,) = [r.exit for r in found if r.WhichOneof("record_type") == "exit"]
    assert ended.exit_code == 0
