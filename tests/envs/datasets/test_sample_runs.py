"""Every shipped sample configuration trains with the scripted model; killed and started again, to the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from skillopt.api import datasets as api
from skillopt.api.datasets import Request
from skillopt.testing.trees import differences, tree
from skillopt.testing.zygote import Zygote

ROOT = Path(__file__).parents[3]
NAMES = (path.parent.name for path in (ROOT / "configs").glob("*/sample.yaml"))
SAMPLES = sorted(NAMES, key=lambda name: (name == "alfworld", name))
"""ALFWorld last: its games take seconds, where a few cases stand for all."""


@pytest.mark.thorough
@pytest.mark.cases(1)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_killed_run_of_two_steps_ends_with_the_same_bytes(name: str, tmp_path: Path, zygote: Zygote) -> None:
    pytest.importorskip("alfworld" if name == "alfworld" else "PIL")
    path = ROOT / f"configs/{name}/sample.yaml"
    place = tmp_path / yaml.safe_load(path.read_text())["env"]["split_dir"]
    api.get(name, Request(output=place), sample=True)

    def train(out: str, *, die: str = "") -> tuple[int, str]:
        changes = ["train.num_epochs=1", "train.batch_size=4", "env.limit=8", "evaluation.eval_test=false"]
        arguments = ["train", "--config", str(path), "--yes", f"env.out_root={tmp_path / out}", *changes]
        ended = zygote.run(arguments, die=die, cwd=tmp_path)
        return ended.code, ended.err

    assert train("whole")[0] == 0
    code, _ = train("killed", die="inserted:14")
    assert code < 0
    assert train("killed")[0] == 0
    assert differences(tree(tmp_path / "whole"), tree(tmp_path / "killed")) == []
    assert len(list((tmp_path / "whole/steps").iterdir())) == 2
