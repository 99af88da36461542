"""What the plan says of machines: which part bounds the rollouts, and what more workers would bring."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillopt.api.given.configuring import configuration
from skillopt.api.runs.training import prepare
from skillopt.forecast.bottleneck import Machines, bottleneck, way_to_models
from skillopt.testing.toy_task import write_config, write_data


@pytest.mark.parametrize(
    ("rollouts", "target_s", "score_s", "machines", "words"),
    [
        (100, 60.0, 2.4, Machines(2, 8), ["scoring bounds this run: 2.0 min on 2 cores", "4 cores would make it 60 s"]),
        (1000, 60.0, 2.4, Machines(2, 8), ["20.0 min on 2 cores", "8 cores would make it 5.0 min"]),
        (100, 60.0, 0.1, Machines(2, 8), ["calls bound this run", "scoring takes 5 s", "would bring nothing"]),
        (100, 60.0, None, Machines(2, 8), ["calls bound this run", "would bring nothing"]),
        (100, 60.0, 0.0, Machines(2, 40, 10), ["memory bounds this run", "10 agent programs at once instead of 40",
                                               "4 such machines would take 60 s instead of 4.0 min"]),
        (100, 60.0, 0.0, Machines(2, 8, 10), ["calls bound this run"]),
        (50, 0.0, 4.0, Machines(8, 8), ["scoring bounds", "at most env.workers=8"]),
        (100, 0.0, 0.5, Machines(1, 8, where="the cluster"), ["1 core of the cluster", "8 cores would make it 6 s"]),
    ],
)  # fmt: skip
def test_it_names_what_bounds(
    rollouts: float, target_s: float, score_s: float | None, machines: Machines, words: list[str]
) -> None:
    said = bottleneck(rollouts, target_s, score_s, machines)
    assert all(word in said for word in words), said


def test_the_plan_measures_the_scorer_and_counts_the_rollouts(tmp_path: Path) -> None:
    (tmp_path / "slow_scorer.py").write_text("import time\ndef score(a, i):\n    time.sleep(0.2)\n    return 1.0\n")
    scorer = {"name": "callable", "function": "slow_scorer:score", "directory": str(tmp_path)}
    config = write_config(
        tmp_path / "c.yaml",
        write_data(tmp_path / "data"),
        env__scorer=scorer,
        env__out_root=str(tmp_path / "run"),
        executor__slots=2,
    )
    said = prepare(configuration(config)).bottleneck()
    assert said.startswith("scoring bounds this run:")
    measured = re.search(r"\((\d+(?:\.\d+)?) s each, measured\)", said)  # sleeping takes longer on a busy machine
    assert measured is not None and float(measured[1]) >= 0.2, said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"executor__kind": "ray"}, "through this run's model proxy"),
        ({"executor__kind": "ray", "executor__credentials": "node"}, "by the program's own login on each node"),
        ({"executor__kind": "ray", "executor__credentials": "send"}, "with the key, which goes along"),
        ({}, ""),
    ],
)
def test_the_plan_names_how_agent_programs_reach_their_model(
    tmp_path: Path, changes: dict[str, str], words: str
) -> None:
    config = write_config(
        tmp_path / "c.yaml", write_data(tmp_path / "data"), model__target_backend="codex_exec", **changes
    )
    said = way_to_models(configuration(config).config)
    assert words in said
    assert bool(words) == bool(said)
