"""I3, I10 and I12 with notes and readouts on: a killed run ends with the same bytes, replay needs no network, and every
call is in the ledger and in a record."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kill_resume import campaign
from skillopt.testing.latency_server import Behaviour
from skillopt.testing.rig import Rig
from skillopt.testing.trees import tree
from tests.examples import SLOW, trials

FAST = Path("/dev/shm")
"""A kill is the same on any file system; without real fsyncs many more of them fit into a minute."""

ALL: dict[str, Any] = {
    "optimizer__use_skill_aware_reflection": True,
    "optimizer__skill_aware_consolidate_threshold": 2,
    "gradient__use_deep_reflect": True,
    "gradient__deep_reflect_failures": 2,
    "gradient__deep_reflect_successes": 1,
    "evaluation__gate_rule": "strict",
    "evaluation__use_semantic_density": True,
}
FORCED = {**ALL, "optimizer__skill_aware_gate_with_selection": False}


@pytest.fixture
def scratch(tmp_path: Path):
    if not FAST.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="skillopt-", dir=FAST, ignore_cleanup_errors=True) as path:
        yield Path(path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", [pytest.param(ALL, id="gated"), pytest.param(FORCED, id="forced", marks=pytest.mark.slow_campaign)]
)
async def test_i3_kill_at_any_moment(scratch: Path, settings: dict[str, Any]) -> None:
    outcome = await campaign(trials=trials(3), kills=3, seed=17, own_hand_share=0.5, scratch=scratch, **settings)
    assert outcome.different == [] and outcome.failed == []
    assert outcome.paid_twice == 0
    assert outcome.sent_again <= outcome.in_flight
    assert outcome.kills >= trials(3)


@pytest.mark.thorough
async def test_i10_replay_without_a_network(rig: Rig) -> None:
    rig.config(**ALL)
    recorded = await rig.finished("run", "evaluation.prefetch=false")
    copy = rig.root / "copy"
    copy.mkdir()
    shutil.copy(rig.root / "run/journal.sqlite", copy)
    rig.server.behaviour = Behaviour(dead=True)
    calls = rig.calls
    assert await rig.done("copy", "--replay", "evaluation.prefetch=false") == recorded
    assert rig.calls == calls
    assert tree(rig.root / "run") == recorded


@pytest.mark.thorough
async def test_the_paired_rule_takes_notes_too(rig: Rig) -> None:
    """Notes are tried on training items like every change; the run replays and nothing is lost without a word."""
    settings = {**ALL, "evaluation__gate_rule": "paired", "evaluation__use_semantic_density": False}
    rig.config(**settings)
    recorded = await rig.done("run", "train.num_epochs=3")
    assert await rig.done("run", "train.num_epochs=3") == recorded
    history = rig.read("run", "history.json")
    asked = [r["appendix"] for r in history if r["appendix"].get("trial") or r["appendix"]["action"] != "not_tried"]
    assert asked
    proposed: set[str] = set()
    for record in history:
        notes = rig.read("run", f"steps/step_{record['step']:04d}/appendix_notes.json")
        proposed |= set(notes["step_notes"])
        assert record["n_appendix_notes_total"] == len(notes["appendix_after"])
        assert not {p["note"] for p in notes["pending"]} & set(notes["appendix_after"])
    assert proposed


async def test_i12_every_call_is_in_the_ledger_and_in_a_record(rig: Rig) -> None:
    rig.config(**ALL)
    await rig.finished("run", "evaluation.prefetch=false")
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    assert sum(r["calls"] for r in ledger) == rig.calls == rig.server.stats.to_json()["completed"]
    connection = sqlite3.connect(rig.root / "run/journal.sqlite")
    query = "SELECT sum(calls), sum(prompt_tokens), sum(completion_tokens) FROM entries WHERE calls > 0"
    assert connection.execute(query).fetchone() == tuple(
        sum(r[k] for r in ledger) for k in ("calls", "prompt_tokens", "completion_tokens")
    )
    connection.close()
    paid = {r["stage"]: r["calls"] for r in ledger}
    counted: dict[str, int] = {}
    for record in rig.read("run", "history.json"):
        for stage, row in record["tokens"].items():
            counted[stage] = counted.get(stage, 0) + row["calls"]
    for stage in ("deep_probe", "deep_rollout", "analyst", "appendix_consolidate"):
        assert counted.get(stage, 0) >= paid.get(stage, 0) > 0, stage
    summary = rig.read("run", "summary.json")["token_summary"]
    assert summary["deep_rollout"]["calls"] == counted["deep_rollout"]
    assert json.dumps(summary).count("appendix_consolidate") == 1


def without_config(files: dict[str, bytes]) -> dict[str, bytes]:
    """A tree without the files that state the budget."""
    return {name: data for name, data in files.items() if name not in ("config.json", "config.yaml")}


@pytest.mark.thorough
@pytest.mark.parametrize("forced", [False, pytest.param(True, marks=pytest.mark.slow_campaign)])
async def test_a_budget_that_ends_anywhere_loses_nothing(rig: Rig, forced: bool) -> None:
    """A stop between a step's verdict and its notes leaves a record of both, and a larger budget the same end."""
    rig.config(**(FORCED if forced else ALL), optimizer__use_slow_update=False, optimizer__use_meta_skill=False,
               evaluation__eval_test=False)  # fmt: skip
    whole = without_config(await rig.done("whole", "budget.max_calls=5000"))
    cut_off = 0
    for cap in range(50, 130, 16 if SLOW else 32):
        name = f"cap{cap}"
        await rig.done(name, f"budget.max_calls={cap}")
        for record in rig.read(name, "history.json"):
            notes = rig.read(name, f"steps/step_{record['step']:04d}/appendix_notes.json")
            if record["appendix"]["reason"] == "not measured: the run was stopped":
                cut_off += 1
                assert record["appendix"]["action"] == "not_tried" and notes["pending"], "named, not lost"
                assert record["action"] in ("accept_new_best", "accept", "reject") or record["action"].startswith(
                    "skip"
                )
        assert without_config(await rig.done(name, "budget.max_calls=5000")) == whole
    assert cut_off
