"""What is said of epoch ends: forecast, console, log, summary and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillopt.cli.progress.narration import Narrator
from skillopt.cli.progress.train_log import TrainLog
from skillopt.config import load_config, parse_overrides
from skillopt.config.derived import Sizes
from skillopt.envs.registry import settings_schemas
from skillopt.forecast.range import Range
from skillopt.forecast.workload import workload
from skillopt.records.events import BudgetUpdated, StageProgress
from skillopt.records.vocabulary import Stage
from skillopt.testing.toy_task import write_config
from tests.engine.epoch.stage import Ran, append, guide, play, remember

ROOT = Path(__file__).parents[3]
Key = Stage | tuple[Stage, Stage]


def forecast(tmp_path: Path, **changes: Any) -> dict[Key, Range]:
    path = write_config(tmp_path / "c.yaml", tmp_path, **changes)
    config = load_config(path, environ={}, env_schemas=settings_schemas()).config
    work = workload(config, Sizes(100, 30, 50))
    return {s.stage if s.within is None else (s.stage, s.within): s.calls for s in work.stages if s.when == "epoch"}


def test_forecast(tmp_path: Path) -> None:
    """Four epochs: three comparisons of 20 items with two skills, three guidances, three memories, three gates."""
    assert forecast(tmp_path, train__num_epochs=4) == {
        Stage.LONGITUDINAL: Range(0, 120),
        Stage.SLOW_UPDATE: Range(3, 3),
        Stage.META_SKILL: Range(3, 3),
        (Stage.GATE, Stage.SLOW_UPDATE): Range(0, 90),
    }
    assert forecast(tmp_path, train__num_epochs=1) == {}


def test_forecast_of_options(tmp_path: Path) -> None:
    off = {"optimizer__use_slow_update": False, "optimizer__use_meta_skill": False}
    assert forecast(tmp_path, train__num_epochs=4, **off) == {}
    changed = forecast(tmp_path, train__num_epochs=4, optimizer__longitudinal_pair_policy="changed")
    assert changed[Stage.LONGITUDINAL] == Range(0, 600), "it may go through the whole split"
    assert changed[Stage.SLOW_UPDATE] == Range(0, 3), "without a changed pair nothing is asked"
    memory = forecast(tmp_path, train__num_epochs=4, optimizer__use_slow_update=False)
    assert memory == {Stage.LONGITUDINAL: Range(0, 120), Stage.META_SKILL: Range(3, 3)}
    reflect = forecast(tmp_path, train__num_epochs=4, **off, optimizer__use_meta_reflect=True)
    assert reflect == {Stage.META_REFLECT: Range(4, 4), (Stage.GATE, Stage.META_REFLECT): Range(0, 120)}
    rewriting = forecast(
        tmp_path, train__num_epochs=4, **off, optimizer__use_meta_reflect=True,
        optimizer__skill_update_mode="rewrite_from_suggestions",
    )  # fmt: skip
    assert rewriting[Stage.REWRITE, Stage.META_REFLECT] == Range(0, 4)


@pytest.mark.parametrize("policy", ["mixed", "changed"])
async def test_what_is_asked_lies_within_the_forecast(tmp_path: Path, policy: str) -> None:
    changes: dict[str, Any] = {
        "train__num_epochs": 3, "optimizer__use_meta_skill": True, "optimizer__use_meta_reflect": True,
        "optimizer__longitudinal_pair_policy": policy, "optimizer__slow_update_samples": 3,
    }  # fmt: skip
    ran = await run_all(tmp_path, **changes)
    config = load_config(tmp_path / "config.yaml", environ={}, env_schemas=settings_schemas()).config
    work = workload(config, Sizes(8, 8, 4))
    ends = ran.read("summary.json")["epoch_ends"]
    assert {row["stage"] for row in ends} == {"slow_update", "meta_skill", "meta_reflect"}
    for stage in (Stage.LONGITUDINAL, Stage.SLOW_UPDATE, Stage.META_SKILL, Stage.META_REFLECT):
        assert work.of(stage).low <= len(ran.play.stages(stage)) <= work.of(stage).high, stage
    ledger = {row["stage"]: row["calls"] for row in ran.read("logs/ledger.json")["calls"]}
    for stage, calls in ledger.items():
        if stage != Stage.PROBE:
            assert calls <= work.as_billed(Stage(stage)).high, stage


async def run_all(tmp_path: Path, **changes: Any) -> Ran:
    says = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1", "BAN 0"), "meta_skill": remember("- note")}
    return await play(tmp_path, says, **changes)


def log_lines(ran: Ran, path: Path) -> list[str]:
    log = TrainLog(path)
    for event in ran.events:
        log(event)
    return path.read_text().splitlines()


@pytest.mark.parametrize(("gated", "mode"), [(True, "gated"), (False, "force-accept")])
async def test_log_and_console_tell_it(tmp_path: Path, gated: bool, mode: str) -> None:
    ran = await run_all(
        tmp_path, train__num_epochs=3, optimizer__use_meta_skill=True, optimizer__slow_update_gate_with_selection=gated
    )
    log = [line for line in log_lines(ran, tmp_path / "train.log") if not line.startswith("[notice]")]
    assert log[0] == "[gate] metric=hard"
    assert log[1].startswith(f"[slow update] acceptance={mode}")
    for epoch in (1, 2, 3):
        assert log.count(f"[SLOW UPDATE epoch {epoch}]") == 1
        assert log.count(f"[META SKILL epoch {epoch}]") == 1
    order = [log.index(line) for line in ("[SLOW UPDATE epoch 2]", "[META SKILL epoch 2]", "[EPOCH 3/3] start")]
    assert order == sorted(order)
    verdict = log[log.index("[SLOW UPDATE epoch 3]") + 1]
    assert verdict.startswith("[slow update] action=REJECT" if gated else "[slow update] action=FORCE-ACCEPT")
    narrator = Narrator()
    told = [line for event in ran.events for line in narrator.tell(event)]
    assert sum(line.startswith(f"[slow update] acceptance={mode}") for line in told) == 1
    shown = [line for line in told if line.startswith(("[Epoch 2] ", "[Epoch 3] "))]
    assert len(shown) == 6
    assert "8 pairs (0 better, 0 worse)" in shown[1]
    assert "val score 0.5000 > 0.2500" in shown[1]


async def test_nothing_is_said_of_what_is_off(tmp_path: Path) -> None:
    ran = await run_all(tmp_path, optimizer__use_slow_update=False)
    log = "\n".join(log_lines(ran, tmp_path / "train.log"))
    assert "slow update" not in log.lower()
    assert "META" not in log
    assert ran.read("summary.json")["epoch_ends"] == []
    assert "Between epochs" not in (ran.root / "report.md").read_text()


async def test_the_report_has_a_line_for_each(tmp_path: Path) -> None:
    ran = await run_all(tmp_path, optimizer__use_meta_skill=True)
    report = (ran.root / "report.md").read_text()
    assert "## Between epochs" in report
    assert "| 2 | slow update | 0.5000 | accepted, new best" in report
    assert "| 2 | meta skill | – | notes written |" in report


async def test_a_skill_changed_by_guidance_alone_is_not_reported_as_unchanged(tmp_path: Path) -> None:
    ran = await play(tmp_path, {"slow_update": guide("RULE 1")})
    report = (ran.root / "report.md").read_text()
    assert ran.read("summary.json")["total_accepts"] == 0
    assert "Why nothing was kept" not in report


async def test_events_come_in_one_order_whatever_the_width(tmp_path: Path) -> None:
    seen: list[list[tuple[str, object, object]]] = []
    for workers in (1, 8):
        ran = await run_all(tmp_path / str(workers), optimizer__use_meta_skill=True, env__workers=workers)
        told = [e for e in ran.events if not isinstance(e, (StageProgress, BudgetUpdated))]
        seen.append([(e.name, getattr(e, "stage", None), getattr(e, "epoch", None)) for e in told])
    assert seen[0] == seen[1]


FEATURES = {
    "forced_slow_update": {"slow_update_gate_with_selection": False, "use_slow_update": True},
    "no_epoch_ends": {"use_slow_update": False, "use_meta_skill": False},
    "changed_pairs": {"longitudinal_pair_policy": "changed", "use_slow_update": True},
    "meta_reflect": {"use_meta_reflect": True, "meta_learning_rate": 4},
}


@pytest.mark.parametrize("name", FEATURES)
def test_shipped_features(name: str) -> None:
    schemas = settings_schemas()
    flags = parse_overrides(["--env", "searchqa"], schemas)
    loaded = load_config(ROOT / f"configs/features/{name}.yaml", overrides=flags, environ={}, env_schemas=schemas)
    optimizer = loaded.config.optimizer.model_dump()
    assert {key: optimizer[key] for key in FEATURES[name]} == FEATURES[name]
