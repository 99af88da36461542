"""The shipped configurations of the gate's options, each loaded and run; the gate that `init` chooses for its data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from skillopt.cli.main import invoke
from tests.engine.acceptance.conftest import Run

FEATURES = Path(__file__).parents[3] / "configs/features"


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ["paired_gate", "proof", "credit", "several_candidates", "shorter_skill"])
async def test_a_shipped_configuration_runs(run: Run, name: str) -> None:
    settings = yaml.safe_load((FEATURES / f"{name}.yaml").read_text())
    base = settings.pop("_base_")
    if base != "../_base_/default.yaml":
        for section, values in yaml.safe_load((FEATURES / base).read_text()).items():
            if section != "_base_":
                settings.setdefault(section, {}).update({k: v for k, v in values.items() if k not in settings[section]})
    flat = {f"{section}__{key}": value for section, values in settings.items() for key, value in values.items()}
    flat.setdefault("evaluation__gate_rule", "strict")
    done = await run(train__num_epochs=1, **flat)
    assert done.summary["total_steps"] == 4
    config = done.read("config.json")
    for section, values in settings.items():
        for key, value in values.items():
            assert config[key] == value, (section, key)


@pytest.mark.parametrize("items", [15, 60, 320])
def test_init_chooses_one_proof_at_the_end_at_every_size(tmp_path: Path, items: int) -> None:
    data = tmp_path / "tasks.jsonl"
    data.write_text(
        "".join(json.dumps({"question": f"What is {n} + 1?", "answer": str(n + 1)}) + "\n" for n in range(items))
    )
    project = tmp_path / "project"
    arguments = ["init", str(project), "--data", str(data), "--backend", "scripted", "--split-ratio", "1:1:1"]
    assert invoke(arguments) == 0
    assert yaml.safe_load((project / "config.yaml").read_text())["evaluation"]["gate_rule"] == "proof"


def test_a_gate_that_can_never_pass_is_refused_before_anything_is_spent(tmp_path: Path, capsys) -> None:
    data = tmp_path / "tasks.jsonl"
    data.write_text(
        "".join(json.dumps({"question": f"What is {n} + 1?", "answer": str(n + 1)}) + "\n" for n in range(12))
    )
    project = tmp_path / "project"
    assert invoke(["init", str(project), "--data", str(data), "--backend", "scripted", "--split-ratio", "2:1:1"]) == 0
    flags = [f"--env.data_path={project / 'data/tasks.jsonl'}", f"--env.skill_init={project / 'skill.md'}"]
    arguments = ["plan", "--config", str(project / "config.yaml"), *flags, "--evaluation.gate_rule=paired"]
    assert invoke(arguments) == 2
    said = capsys.readouterr()
    assert "can never pass" in said.out + said.err
    assert invoke(["plan", "--config", str(project / "config.yaml"), *flags]) == 0
