"""The invariants with slow update, meta skill and meta reflection on, through command line, SDK and sockets.

Three epochs of the toy task, seed and server as in `test_invariants.py`; the toy's guidance helps, harms or is blank.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kill_resume import campaign
from skillopt.core.editing.regions import slow_update_text, without_empty_regions
from skillopt.core.skill import Skill
from skillopt.testing.latency_server import Behaviour
from skillopt.testing.rig import Rig
from skillopt.testing.trees import differences
from tests.examples import trials

ALL_ON = ("train.num_epochs=3", "optimizer.use_meta_reflect=true")
STAGES = {"slow_update": "slow_result.json", "meta_skill": "meta_skill_result.json", "meta_reflect": "meta_result.json"}


def results(run: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for stage, name in STAGES.items():
        for path in sorted((run / stage).glob(f"epoch_*/{name}")):
            yield path.parent, json.loads(path.read_text())


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def text_of(body: Mapping[str, Any], *roles: str) -> str:
    return "\n".join(m["content"] for m in body["messages"] if not roles or m["role"] in roles)


def without_place(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in ("config.json", "config.yaml")}


async def test_the_toy_covers_what_these_tests_are_about(rig: Rig) -> None:
    """Guidance kept and refused, memories written, meta patches gated: else the rest would prove little."""
    await rig.finished("run", *ALL_ON)
    actions = [(r["stage"], r["action"]) for _, r in results(rig.root / "run")]
    assert ("slow_update", "inject_placeholder") in actions
    assert any(stage == "slow_update" and "accept" in action for stage, action in actions)
    assert actions.count(("meta_skill", "write_meta_skill")) == 2
    assert any(stage == "meta_reflect" and action in ("reject", "accept_new_best") for stage, action in actions)


async def test_i1_a_score_was_measured_on_exactly_those_bytes(rig: Rig) -> None:
    await rig.finished("run", *ALL_ON)
    run, checked = rig.root / "run", 0
    measured = {Skill((run / "skills/skill_v0000.md").read_text()).hash: rows(run / "selection_eval_baseline")}
    for folder in (*run.glob("steps/*"), *run.glob("slow_update/*"), *run.glob("meta_reflect/*")):
        text = next(iter([*folder.glob("candidate_skill.md"), *folder.glob("meta_candidate.md")]), None)
        if text is None or not (folder / "selection_eval").exists():
            continue
        skill = Skill(text.read_text())
        for row in rows(folder / "selection_eval"):
            assert row["skill_hash"] == skill.hash
            system = folder / "selection_eval/predictions" / row["id"] / "target_system_prompt.txt"
            assert without_empty_regions(skill.text).strip() in system.read_text()
            checked += 1
        if len(rows(folder / "selection_eval")) == 12:
            measured[skill.hash] = rows(folder / "selection_eval")
    assert checked > 30
    for folder, result in results(run):
        if result.get("selection_hard") is not None:
            got = measured[result["candidate_hash"]]
            assert result["selection_hard"] == sum(r["hard"] for r in got) / len(got), folder
    state = rig.read("run", "runtime_state.json")
    best = measured[Skill((run / "best_skill.md").read_text()).hash]
    assert state["best_score"] == sum(r["hard"] for r in best) / len(best)
    last = sorted((run / "skills").iterdir())[-1]
    # The placeholder changes bytes and no request, so what was measured without it holds for what the target reads.
    read = {without_empty_regions(p.read_text()): Skill(p.read_text()).hash for p in run.rglob("*candidate*.md")}
    current = measured[read[without_empty_regions(last.read_text())]]
    assert state["current_score"] == sum(r["hard"] for r in current) / len(current)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rule", "policy"),
    [pytest.param("strict", "changed", marks=pytest.mark.slow_campaign), ("paired", "mixed")],
)
async def test_i3_kill_at_any_moment(tmp_path: Path, rule: str, policy: str) -> None:
    on = {
        "train__num_epochs": 3, "optimizer__use_meta_reflect": True, "optimizer__longitudinal_pair_policy": policy,
        "evaluation__gate_rule": rule,
    }  # fmt: skip
    outcome = await campaign(trials=trials(3), kills=3, seed=23, own_hand_share=0.6, scratch=tmp_path, **on)
    assert outcome.different == []
    assert outcome.failed == []
    assert outcome.paid_twice == 0
    assert outcome.sent_again <= outcome.in_flight
    assert outcome.kills >= trials(3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "stage",
    [
        "slow_update",
        pytest.param("meta_reflect", marks=pytest.mark.slow_campaign),
        pytest.param("longitudinal", marks=pytest.mark.slow_campaign),
        pytest.param("meta_skill", marks=pytest.mark.slow_campaign),
    ],
)
async def test_i3_killed_in_the_middle_of_an_epochs_end(rig: Rig, stage: str) -> None:
    """Just before and just after the commit of the stage's first answer of the run."""
    whole = await rig.finished("whole", *ALL_ON, "evaluation.prefetch=false")
    journal = sqlite3.connect(rig.root / "whole/journal.sqlite")
    query = "SELECT count(*) FROM entries WHERE calls > 0 AND seq <= (SELECT min(seq) FROM entries WHERE stage = ?)"
    (place,) = journal.execute(query, (stage,)).fetchone()
    journal.close()
    assert place, f"no {stage} call was made"
    for die in (f"insert:{place}", f"inserted:{place}"):
        name = die.replace(":", "-")
        ended = await rig.command(*rig.arguments(name, *ALL_ON, "evaluation.prefetch=false"), die=die)
        assert ended.code < 0, "it was not killed"
        assert differences(whole, await rig.done(name, *ALL_ON, "evaluation.prefetch=false")) == []


@pytest.mark.thorough
async def test_i5_sealed_items_reach_no_optimizer_prompt(rig: Rig) -> None:
    rig.own_data()
    marks: list[str] = []
    for split in ("val", "test"):
        path = rig.data / split / "items.json"
        items = json.loads(path.read_text())
        for number, item in enumerate(items):
            word = f"{split}word{number}"
            item["question"] = item["question"].replace(item["answer"], word)
            item["answer"] = word
            marks += [word, item["id"], item["question"]]
        path.write_text(json.dumps(items))
    await rig.done("run", *ALL_ON)
    prompts = [text_of(b) for b in rig.server.bodies or () if b["model"] == "toy-optimizer"]
    assert any("Pair 1:" in p for p in prompts)
    for mark in marks:
        assert not any(mark in prompt for prompt in prompts), mark


@pytest.mark.thorough
@pytest.mark.parametrize("cap", [pytest.param(130, marks=pytest.mark.slow_campaign), 175])
async def test_i6_a_cap_in_the_middle_of_the_run_ends_it_in_order_and_can_be_raised(rig: Rig, cap: int) -> None:
    whole = await rig.finished("whole", *ALL_ON, "evaluation.prefetch=false")
    before = rig.calls
    stopped = await rig.train("run", *ALL_ON, "evaluation.prefetch=false", f"budget.max_calls={cap}")
    assert stopped.code == 0, stopped.err
    assert rig.calls - before <= cap
    run = rig.root / "run"
    last = sorted((run / "skills").iterdir())[-1].read_text()
    summary = rig.read("run", "summary.json")
    assert summary["current_origin"] == rig.read("run", "runtime_state.json")["current_origin"]
    if summary["current_origin"].startswith("slow_update_epoch"):
        assert slow_update_text(Skill(last))
    assert summary["test_hard"] is not None, "calls were set aside for the sealed test"
    raised = await rig.done("run", *ALL_ON, "evaluation.prefetch=false", "budget.max_calls=null")
    # A capped run that has read the sealed test reads it a second time, and says so; nothing else differs.
    assert set(differences(whole, raised)) <= {"report.md", "summary.json"}
    undisturbed, summary = rig.read("whole", "summary.json"), rig.read("run", "summary.json")
    told = {"verdict", "test_reading"}
    assert {k: v for k, v in summary.items() if k not in told} == {
        k: v for k, v in undisturbed.items() if k not in told
    }


async def test_i8_lines_of_guidance_can_be_traced(rig: Rig) -> None:
    """Each line of the best skill's region stands in an accepted slow update, made of training pairs it names."""
    await rig.finished("run", *ALL_ON)
    run = rig.root / "run"
    train = {i["id"] for i in json.loads((rig.data / "train/items.json").read_text())}
    guidance = slow_update_text(Skill(sorted((run / "skills").iterdir())[-1].read_text())).splitlines()
    assert guidance
    for line in guidance:
        said = [
            folder
            for folder, r in results(run)
            if r["stage"] == "slow_update" and "accept" in r["action"] and line in r["update_target"].splitlines()
        ]
        assert said, line
        pairs = json.loads((said[-1] / "comparison_pairs.json").read_text())
        assert {p["id"] for p in pairs} <= train


@pytest.mark.thorough
async def test_i9_an_early_gate_decides_as_the_full_evaluation(rig: Rig) -> None:
    for seed in (12, 5):
        common = ALL_ON if seed == 12 else (*ALL_ON, f"train.seed={seed}")
        start = rig.finished if seed == 12 else rig.done
        early = await start(f"early{seed}", *common)
        full = await rig.done(f"full{seed}", *common, "evaluation.gate_early_stop=false")
        assert early["best_skill.md"] == full["best_skill.md"]
        assert {n: d for n, d in early.items() if n.startswith("skills/")} == {
            n: d for n, d in full.items() if n.startswith("skills/")
        }
        pairs = zip(results(rig.root / f"early{seed}"), results(rig.root / f"full{seed}"), strict=True)
        for (_, a), (_, b) in pairs:
            assert (a["stage"], a["action"], a["current_score"]) == (b["stage"], b["action"], b["current_score"])


@pytest.mark.thorough
async def test_i10_replay_without_a_network(rig: Rig) -> None:
    recorded = await rig.finished("run", *ALL_ON)
    (rig.root / "copy").mkdir()
    shutil.copy(rig.root / "run/journal.sqlite", rig.root / "copy")
    rig.server.behaviour = Behaviour(dead=True)
    calls = rig.calls
    assert await rig.done("copy", *ALL_ON, "--replay") == recorded
    assert rig.calls == calls


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["mixed", pytest.param("changed", marks=pytest.mark.slow_campaign)])
async def test_i11_width_and_speed_change_nothing(rig: Rig, policy: str) -> None:
    changes = (*ALL_ON, f"optimizer.longitudinal_pair_policy={policy}", "optimizer.slow_update_samples=5")
    reference = without_place(await rig.done("reference", *changes))
    for workers in (1, 24):
        rig.server.behaviour = Behaviour(median_s=0.01, sigma=1.0, repeatable=False, seed=workers)
        got = await rig.done(f"w{workers}", *changes, f"env.workers={workers}", "gradient.analyst_workers=3")
        assert differences(reference, without_place(got)) == []


@pytest.mark.thorough
async def test_i11_working_ahead_changes_nothing(rig: Rig) -> None:
    plain = without_place(await rig.finished("plain", *ALL_ON, "evaluation.prefetch=false"))
    assert differences(without_place(await rig.done("ahead", *ALL_ON)), plain) == []


async def test_i12_the_ledger_equals_the_journal_and_the_summary_counts_every_answer(rig: Rig) -> None:
    await rig.finished("run", *ALL_ON, "evaluation.prefetch=false")
    ledger = rig.read("run", "logs/ledger.json")["calls"]
    assert sum(r["calls"] for r in ledger) == rig.calls
    paid = {r["stage"]: r["calls"] for r in ledger if r["role"] == "optimizer" and r["stage"] != "probe"}
    summary = rig.read("run", "summary.json")["token_summary"]
    assert {s: summary[s]["calls"] for s in paid} == paid, "no optimizer answer is used twice in this run"
    for stage in STAGES:
        in_files = sum(r["tokens"].get(stage, {"calls": 0})["calls"] for _, r in results(rig.root / "run"))
        assert in_files == paid[stage] > 0
