"""Several seeds side by side: what is asked once, caps over all, one verdict, going on after a kill."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean

import pytest

import skillopt
from skillopt.cli.main import invoke
from skillopt.core.errors import ConfigError, RunDirError
from skillopt.engine.asked_once import cut
from skillopt.gate.family import holm
from skillopt.records.directory import JOURNAL
from skillopt.records.reading import open_run
from skillopt.store.journal import Journal
from skillopt.testing.toy import toy_item
from skillopt.testing.toy_task import write_config, write_data
from skillopt.testing.trees import differences, tree

ITEMS = [dict(toy_item(n)) for n in range(96)]
SPLITS = {"train": ITEMS[:24], "selection": ITEMS[24:60], "test": ITEMS[60:]}
KEYS = {
    "train.num_epochs": 2,
    "train.batch_size": 12,
    "optimizer.use_slow_update": False,
    "optimizer.use_meta_skill": False,
    "evaluation.gate_rule": "proof",
}


def runs(out: Path, seeds: int = 2, **more: object) -> skillopt.SeedsResult:
    keys = {**KEYS, **more.pop("keys", {})}  # pyright: ignore[reportGeneralTypeIssues]
    return skillopt.optimize_seeds(
        seeds=seeds, scorer="exact", target="scripted", out=out, overrides=keys, **SPLITS, **more
    )


def paid(directory: Path) -> dict[tuple[str, str], int]:
    journal = Journal.open(directory / JOURNAL, replay=True)
    try:
        return {(row.role, row.stage): row.calls for row in journal.ledger() if row.calls}
    finally:
        journal.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> skillopt.SeedsResult:
    return runs(tmp_path_factory.mktemp("pair") / "runs")


def test_what_all_runs_ask_alike_is_asked_once(pair: skillopt.SeedsResult) -> None:
    once = paid(pair.directory)
    assert once["target", "baseline"] == 36 and once["target", "test"] == 36
    for result in pair.results:
        own = paid(result.directory)
        assert ("target", "baseline") not in own
        assert own.get(("target", "test"), 0) in (0, 36), "the best skill's part, where there is another one"
        assert own["target", "rollout"] >= 24, "training is each run's own"


def test_a_run_among_several_is_the_run_it_would_be_alone(pair: skillopt.SeedsResult, tmp_path: Path) -> None:
    alone = skillopt.optimize(
        scorer="exact", target="scripted", out=tmp_path / "alone", overrides={**KEYS, "train.seed": 43}, **SPLITS
    )
    among, own = tree(pair.results[1].directory), tree(alone.directory)
    assert [n for n in differences(among, own) if not n.startswith(("_given", "config."))] == [], "but for a path"


def test_the_joint_verdict_says_what_the_runs_say(pair: skillopt.SeedsResult) -> None:
    summary, results = pair.summary, pair.results
    assert [row.seed for row in summary.rows] == [42, 43]
    assert [row.reading for row in summary.rows] == [1, 2] and summary.readings == 2
    deltas = [r.summary.paired.delta if r.summary.paired else 0.0 for r in results]
    assert [row.difference.delta for row in summary.rows if row.difference] == pytest.approx(deltas)
    assert summary.mean is not None and summary.mean.delta == pytest.approx(fmean(deltas))
    assert summary.worst == pytest.approx(min(deltas))
    assert summary.chosen in (42, 43)
    chosen = next(r for r in results if r.summary.seed == summary.chosen)
    assert pair.skill == chosen.skill != chosen.initial
    assert summary.mean.interval[0] > 0 and pair.verdict.startswith("Better: ")
    assert all(row.proven_jointly for row in summary.rows if row.p is not None and row.p <= 0.025)
    report = (pair.directory / "report.md").read_text()
    assert pair.verdict in report and "chosen by its selection score" in report


def test_the_same_call_again_pays_nothing_and_more_seeds_go_on(pair: skillopt.SeedsResult, tmp_path: Path) -> None:
    first = skillopt.SeedsResult.load(Path(shutil.copytree(pair.directory, tmp_path / "runs")))
    spent = paid(first.directory)
    again = runs(tmp_path / "runs")  # the directory was moved, and its items with it: the same items
    assert again.verdict == first.verdict and paid(first.directory) == spent
    before = tree(first.directory / "seed_42")
    three = runs(tmp_path / "runs", seeds=3)
    assert [row.seed for row in three.summary.rows] == [42, 43, 44]
    assert tree(three.directory / "seed_42") == before
    assert paid(three.directory) == spent, "the third run finds baseline and test there"
    with pytest.raises(RunDirError, match="more runs than --seeds 2"):
        runs(tmp_path / "runs")


@pytest.mark.thorough
def test_killed_as_a_whole_and_started_again_gives_the_same_bytes(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    config = write_config(
        tmp_path / "config.yaml", data, evaluation__gate_rule="proof", train__num_epochs=2,
        optimizer__use_slow_update=False, optimizer__use_meta_skill=False,
    )  # fmt: skip
    command = ["train", "--config", str(config), "--yes", "--seeds", "2"]
    out = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "skillopt", *command, f"env.out_root={out}"], stdout=subprocess.DEVNULL
    )
    began = time.monotonic()
    while not (out / "seed_12" / "steps" / "step_0001").exists() and time.monotonic() - began < 120:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert (out / "seed_12" / JOURNAL).exists() and not (out / "seeds.json").exists()
    assert invoke([*command, f"env.out_root={out}"]) == 0
    whole = tmp_path / "whole"
    assert invoke([*command, f"env.out_root={whole}"]) == 0
    for name in ("seed_12", "seed_13"):
        assert differences(tree(out / name), tree(whole / name)) == []
        assert sum(paid(out / name).values()) == sum(paid(whole / name).values())
    for name in ("seeds.json", "report.md", "best_skill.md", "config.yaml"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert paid(out) == paid(whole)


@pytest.mark.cases(1)
@pytest.mark.parametrize("cap", [330, 420])
def test_caps_hold_over_all_runs_and_none_loses_its_test(tmp_path: Path, cap: int) -> None:
    found = runs(tmp_path / "runs", budget={"calls": cap})
    total = sum(sum(paid(place).values()) for place in (found.directory, *(r.directory for r in found.results)))
    assert total <= cap
    assert all(row.reading for row in found.summary.rows)
    shares = [json.loads((r.directory / "config.json").read_text())["max_calls"] for r in found.results]
    assert shares[0] == shares[1] < cap / 2
    assert runs(tmp_path / "runs", budget={"calls": cap}).verdict == found.verdict


def test_one_limiter_serves_all_runs(tmp_path: Path) -> None:
    running = most = 0

    async def model(messages: object) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return "no idea"

    skillopt.optimize_seeds(
        seeds=3, scorer="exact", target=model, optimizer="scripted", out=tmp_path / "runs",
        overrides={**KEYS, "train.num_epochs": 1, "env.workers": 4}, **SPLITS,
    )  # fmt: skip
    assert 2 <= most <= 4


def test_a_parent_is_no_run_and_a_run_is_no_parent(pair: skillopt.SeedsResult, tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="several runs"):
        skillopt.optimize(scorer="exact", target="scripted", out=pair.directory, overrides=KEYS, **SPLITS)
    with pytest.raises(RunDirError, match="another run"):
        runs(pair.results[0].directory)
    with pytest.raises(ConfigError, match="--seeds 0"):
        runs(tmp_path / "none", seeds=0)
    with pytest.raises(RunDirError, match="another configuration"):
        runs(pair.directory, keys={"optimizer.learning_rate": 1})


def test_the_plan_prices_all_runs(tmp_path: Path) -> None:
    arguments = {"scorer": "exact", "target": "scripted", "overrides": KEYS, **SPLITS}
    one, five = skillopt.plan(**arguments), skillopt.plan(**arguments, seeds=5)  # pyright: ignore[reportArgumentType]
    calls = {plan.seeds: {s.stage: s.calls for s in plan.stages} for plan in (one, five)}
    assert calls[5]["baseline"] == calls[1]["baseline"]
    assert calls[5]["rollout"] == calls[1]["rollout"].times(5)
    assert (calls[5]["test"].low, calls[5]["test"].high) == (36, 36 * 11)
    assert any("5 seeds" in note and "Holm" in note for note in five.gate_notes)


def test_holm_and_shares() -> None:
    assert holm([0.03, 0.04], 0.05) == (False, False)
    assert holm([0.02, 0.04], 0.05) == (True, True)
    assert holm([None, None], 0.05) == (False, False)
    assert cut(12, [0, 6, 0]) == [3, 6, 3]
    assert cut(3, [4, 0]) == [4, 0]
    assert cut(10, [0, 0]) == [5, 5]


def test_each_run_is_a_run(pair: skillopt.SeedsResult) -> None:
    assert [open_run(pair.directory / row.directory).summary is not None for row in pair.summary.rows] == [True, True]
    assert skillopt.SeedsResult.load(pair.directory).verdict == pair.verdict
