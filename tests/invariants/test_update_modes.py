"""Invariants I3, I4, I10 and I12 in every update mode and with the autonomous budget, on the toy task."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kill_resume import campaign
from skillopt.core.skill import APPENDIX, SLOW_UPDATE
from skillopt.testing.latency_server import Behaviour
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer
from skillopt.testing.trees import differences, journal_keys
from tests.examples import trials

MODES: dict[str, dict[str, Any]] = {
    "patch, autonomous": {"optimizer__lr_control_mode": "autonomous"},
    "suggestions": {"optimizer__skill_update_mode": "rewrite_from_suggestions"},
    "suggestions, autonomous, raced": {
        "optimizer__skill_update_mode": "rewrite_from_suggestions",
        "optimizer__lr_control_mode": "autonomous",
        "optimizer__proposals": 2,
    },
    "documents": {"optimizer__skill_update_mode": "full_rewrite_minibatch"},
    "documents, raced": {"optimizer__skill_update_mode": "full_rewrite_minibatch", "optimizer__proposals": 2},
}
STAGES = {
    "patch, autonomous": {"analyst", "merge", "lr_autonomous"},
    "suggestions": {"analyst", "merge", "rewrite", "ranking"},
    "suggestions, autonomous, raced": {"analyst", "merge", "rewrite", "lr_autonomous", "race"},
    "documents": {"analyst", "merge"},
    "documents, raced": {"analyst", "merge", "race"},
}
"""What a run in the mode must have asked; a mode that asks less was not tested."""
NEVER = {"documents": {"ranking", "lr_autonomous", "rewrite"}, "patch, autonomous": {"rewrite"}}
every_mode = pytest.mark.parametrize("mode", MODES)
RACED = [mode for mode in MODES if "raced" in mode]
KILLED = "documents"
RACED_AND_KILLED = "suggestions, autonomous, raced"
"""Of these `make test` kills runs; of the other modes `make test-slow`."""


def one_of(modes: Iterable[str], first: str) -> list[Any]:
    return [mode if mode == first else pytest.param(mode, marks=pytest.mark.slow_campaign) for mode in modes]


def configure(rig: Rig, mode: str, **more: Any) -> None:
    """Raced samples of one prompt differ by their repeat, which is not on the wire: they need the scripted backend."""
    raced = {"model__backend": "scripted", "model__target": "", "model__optimizer": ""} if mode in RACED else {}
    rig.config(**{**MODES[mode], **raced, **more})


@pytest.mark.thorough
@pytest.mark.parametrize("mode", one_of([mode for mode in MODES if mode not in RACED], KILLED))
async def test_i3_kill_at_any_moment(tmp_path: Path, mode: str) -> None:
    outcome = await campaign(
        trials=trials(2), kills=3, seed=len(mode), own_hand_share=0.5, scratch=tmp_path, **dict(MODES[mode])
    )
    assert (outcome.different, outcome.failed, outcome.paid_twice) == ([], [], 0)
    assert outcome.sent_again <= outcome.in_flight
    assert outcome.kills >= 1, str(outcome)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", one_of(RACED, RACED_AND_KILLED))
async def test_i3_kill_at_any_moment_of_a_race(rig: Rig, mode: str) -> None:
    configure(rig, mode, evaluation__prefetch=False)  # what speculation has got hold of differs from run to run
    whole = await rig.done("whole")
    for share in (0.3, 0.6, 0.9):
        count = int(share * len(journal_keys(rig.root / "whole")))
        ended = await rig.command(*rig.arguments(f"run{share}"), die=f"inserted:{count}")
        assert ended.code < 0
        assert differences(whole, await rig.done(f"run{share}")) == []
        assert journal_keys(rig.root / f"run{share}") == journal_keys(rig.root / "whole")


HEADER = "---\nname: boxes\ndescription: What boxes hold.\n---\n"
REGION = f"{SLOW_UPDATE[0]}\nKeep this  guidance as it is. \n{SLOW_UPDATE[1]}"
NOTES = f"{APPENDIX[0]}\n## Execution Notes Appendix\n- Keep this note.\n{APPENDIX[1]}"
ATTACKS = (
    lambda text: text.replace("name: boxes", "name: taken"),
    lambda text: text.replace("Keep this  guidance as it is. ", "Do something else."),
    lambda text: text.replace(HEADER, ""),
    lambda text: text.replace(REGION, f"{SLOW_UPDATE[0]} stray"),
    lambda text: f"{text}\n{APPENDIX[0]}\nmine\n{APPENDIX[1]}\n{SLOW_UPDATE[1]}",
    lambda text: f"---\nname: other\n---\n{text}",
)


def attacked(value: Any, generator: random.Random) -> Any:
    """The reply with every whole document in it tampered with, and markers in every suggestion."""
    if isinstance(value, list):
        return [attacked(entry, generator) for entry in value]
    if isinstance(value, dict):
        return {k: attacked_text(k, v, generator) for k, v in value.items()}
    return value


def attacked_text(key: str, value: Any, generator: random.Random) -> Any:
    if key == "new_skill":
        return ATTACKS[generator.randrange(len(ATTACKS))](value)
    if key == "instruction":
        return f"{value} {SLOW_UPDATE[0]}"
    return attacked(value, generator)


@pytest.mark.cases(1)
@every_mode
async def test_i4_header_and_protected_regions_stay(rig: Rig, tmp_path: Path, mode: str) -> None:
    (tmp_path / "skill.md").write_text(f"{HEADER}\n# Boxes\n\nLook closely.\n\n{REGION}\n\n{NOTES}\n")
    tried: Counter[bool] = Counter()

    def answering(body: Mapping[str, Any]) -> tuple[str, Any]:
        text, usage = answer(body)
        if body["model"] == "toy-optimizer" and text.startswith("{"):
            hostile = json.dumps(attacked(json.loads(text), random.Random(json.dumps(body["messages"]))))
            tried[hostile != text] += 1
            text = hostile
        return text, usage

    rig.server.answer = answering
    alone = {"optimizer__use_slow_update": False, "evaluation__gate_rule": "strict"}
    rig.config(**MODES[mode], **alone, env__skill_init=str(tmp_path / "skill.md"))
    await rig.done("run")
    run = rig.root / "run"
    for path in [run / "best_skill.md", *run.glob("skills/*.md"), *run.glob("steps/*/candidate_skill.md")]:
        text = path.read_text()
        assert text.startswith(HEADER), path
        for kept in (REGION, NOTES):
            assert text.count(kept) == 1, path
        for marker in (*SLOW_UPDATE, *APPENDIX):
            assert text.count(marker) == 1, path
    assert rig.read("run", "summary.json")["total_accepts"] > 0
    assert "RULE" in (run / "best_skill.md").read_text()
    if "patch" not in mode:
        assert tried[True] >= 4


@pytest.mark.thorough
@pytest.mark.cases(1)
@every_mode
async def test_i10_replay_without_a_network(rig: Rig, mode: str) -> None:
    configure(rig, mode, evaluation__prefetch=False)
    recorded = await rig.finished("run")
    assert await rig.done("run") == recorded, "a finished run started again"
    (rig.root / "copy").mkdir()
    shutil.copy(rig.root / "run/journal.sqlite", rig.root / "copy")
    rig.server.behaviour = Behaviour(dead=True)
    calls = rig.calls
    assert await rig.done("copy", "--replay") == recorded
    assert rig.calls == calls
    autonomous = "autonomous" in mode
    assert ("lr_history.jsonl" in recorded) == autonomous
    if autonomous:
        rows = [json.loads(line) for line in recorded["lr_history.jsonl"].splitlines()]
        decided = {row["step"]: row for row in rows}
        for record in json.loads(recorded["history.json"]):
            row = decided.get(record["step"])
            assert record["lr_decision"] == row
            if row is not None:
                assert record["edit_budget"] == row["learning_rate"] <= row["available_update_items"]
                assert json.loads(recorded[f"steps/step_{record['step']:04d}/lr_decision.json"]) == row


@pytest.mark.cases(1)
@every_mode
async def test_i12_the_ledger_equals_the_journal_and_the_records(rig: Rig, mode: str) -> None:
    configure(rig, mode, evaluation__prefetch=False)
    await rig.finished("run")
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    names = ("calls", "prompt_tokens", "completion_tokens")
    connection = sqlite3.connect(rig.root / "run/journal.sqlite")
    query = "SELECT sum(calls), sum(prompt_tokens), sum(completion_tokens) FROM entries WHERE calls > 0"
    journal = connection.execute(query).fetchone()
    by_stage = dict(connection.execute("SELECT stage, sum(calls) FROM entries WHERE calls > 0 GROUP BY stage"))
    connection.close()
    assert journal == tuple(sum(row[name] for row in ledger) for name in names)
    if mode not in RACED:
        assert journal[0] == rig.calls == rig.server.stats.to_json()["completed"]
    tallied: Counter[str] = Counter()
    for record in rig.read("run", "history.json"):
        for stage, row in record["tokens"].items():
            tallied[stage] += row["calls"]
    assert set(tallied) >= STAGES[mode]
    assert not set(by_stage) & NEVER.get(mode, set())
    for stage in ("analyst", "merge", "ranking", "rewrite", "lr_autonomous"):
        assert tallied[stage] == by_stage.get(stage, 0), stage
