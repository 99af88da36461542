"""The blocks of docs/guide/trackers.md, one after the other, in a process of their own (W&B talks to its service by a
local socket, which the network guard of this one refuses)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from skillopt.config.schema.tracking import TrackingSection

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide/trackers.md").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.slow
def test_the_blocks_run_and_leave_something_in_each_store(tmp_path: Path) -> None:
    for module in ("mlflow", "wandb", "opentelemetry.sdk"):
        pytest.importorskip(module)
    program = tmp_path / "program.py"
    program.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)), encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "WANDB_", "MLFLOW_"))}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert (tmp_path / "mlflow.db").stat().st_size > 0 and list(tmp_path.rglob("*.wandb"))
    assert '"name": "invoke_workflow skillopt"' in done.stdout and "gen_ai.evaluation.result" in done.stdout
    assert re.search(r"^gate \w+", done.stdout, re.M), "an observer of one's own"


def test_the_file_of_the_page_is_a_section() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    assert TrackingSection.model_validate(yaml.safe_load(block)["tracking"]).trackers == ("mlflow",)
