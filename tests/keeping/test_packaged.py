"""A packaged skill: trained by a run, copied with its report and what was measured, evaluated in one command."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from skillopt.api.keeping.packaged import package
from skillopt.cli.main import invoke
from skillopt.config import load_config, parse_overrides
from skillopt.core.errors import SkillOptError
from skillopt.envs.registry import settings_schemas
from skillopt.records.reading import open_run


def test_a_packaged_skill_claims_what_its_run_measured(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty.md").write_text("# Boxes\n")
    trained = ["train", "--config", "config.yaml", "--yes", "env.skill_init=empty.md", "env.out_root=run",
               "train.num_epochs=1", "train.batch_size=10", "model.target=Some/Model-7B"]  # fmt: skip
    assert invoke(trained) == 0
    done = package(project / "run", "boxes", root=project / "ckpt")
    assert done.skill == project / "ckpt/boxes/some-model-7b_skill.md"
    summary = open_run(project / "run").summary
    assert summary is not None and summary.paired is not None
    told = json.loads((project / "ckpt/boxes/some-model-7b_provenance.json").read_text())
    assert told["gain"]["delta"] == summary.paired.delta and told["gain"]["n"] == 40
    assert told["models"]["target"] == "Some/Model-7B" and told["skill_hash"] == summary.best_skill_hash
    assert (project / "ckpt/boxes/some-model-7b_report.md").read_bytes() == (project / "run/report.md").read_bytes()
    capsys.readouterr()
    assert invoke(["eval", "--config", "config.yaml", "--skill", str(done.skill), "env.out_root=eval"]) == 0
    shown = capsys.readouterr().out
    assert f"{told['gain']['after']['value']:.4f}" in shown
    with pytest.raises(SkillOptError):
        package(project / "nowhere", "boxes")


@pytest.mark.parametrize("backend", ["local", "scripted"])
def test_the_settings_that_packaged_skills_are_trained_with_are_known(backend: str) -> None:
    root, schemas = Path(__file__).parents[2], settings_schemas()
    trainings = runpy.run_path(str(root / "scripts/train_packaged.py"), run_name="read")["CONFIGS"]
    for config, changes in trainings.values():
        told = parse_overrides([f"model.backend={backend}", *changes], schemas)
        found = load_config(root / config, overrides=told, environ={}, env_schemas=schemas)
        assert found.config.model.target_backend == backend and found.notices == ()
