"""The factorial search end to end on the toy task, where every true effect is known."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest

from benchmarks.kill_resume import campaign
from skillopt.core.editing.edit import Edit
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.factorial import half_width
from skillopt.optimizer.factorial.compose import compose
from skillopt.testing.rig import Rig
from tests.examples import trials

FAST = Path("/dev/shm")


async def test_it_climbs_proves_and_leaves_its_account(rig: Rig) -> None:
    files = await rig.done("run")
    summary, history = rig.read("run", "summary.json"), rig.read("run", "history.json")
    best, initial = files["best_skill.md"].decode(), files["skills/skill_v0000.md"].decode()
    assert summary["verdict"].startswith("Better") and summary["last_look"]["action"] == "accept_new_best"
    assert best != initial and "draft_skill.md" not in files, "what is proven is no draft any more"
    # Nothing of the selection split was asked between the baseline and the one look.
    assert all(not r.get("evaluated_n") for r in history) and len(history) == 15
    assert {r["action"] for r in history} <= {"draft", "skip_no_patches", "reject"}
    effects = rig.read("run", "effects.json")
    kept = [row for row in effects if row["kept"]]
    assert kept and all(row["interval"][0] <= row["effect"] <= row["interval"][1] for row in kept)
    # An eighth of the items is of one kind: that is what a rule is worth, and an AVOID costs up to as much. 240
    # rollouts tell the two apart by their intervals, not always by their estimates.
    for row in effects:
        if row["effect"] is not None and "AVOID" in row["edit"]["content"]:
            assert row["interval"][0] < 0
    for row in kept:
        assert row["interval"][0] < 0.125
    assert len({int(n) for n in re.findall(r"RULE (\d)", best)}) >= 5


async def test_scores_belong_to_exactly_the_bytes_that_were_sent(rig: Rig) -> None:
    await rig.done("run")
    edits = {row["line"]: Edit.from_json(row["edit"]) for row in rig.read("run", "effects.json")}
    base = Skill((rig.root / "run/skills/skill_v0000.md").read_text())
    for step in (1, 4, 15):
        place = f"steps/step_{step:04d}"
        trials = rig.read("run", f"{place}/factorial.json")["trials"]
        hashes = {(t["item"], t["draw"]): compose(base, edits, t["lines"]).skill.hash for t in trials}
        rows = [
            json.loads(line)
            for path in sorted((rig.root / "run" / place).rglob("rollout/results.jsonl"))
            for line in path.read_text().splitlines()
        ]
        assert {(r["id"], r.get("repeat", 0)): r["skill_hash"] for r in rows} == hashes


@pytest.mark.thorough
async def test_sealed_items_reach_no_optimizer_prompt(rig: Rig) -> None:
    await rig.done("run")
    sealed = {
        item["id"] for split in ("val", "test") for item in json.loads((rig.data / split / "items.json").read_text())
    }
    prompts = [json.dumps(b) for b in rig.server.bodies if b.get("response_format")]
    assert prompts
    for prompt in prompts:
        assert not {i for i in sealed if re.search(rf"\b{i}\b", prompt)}


@pytest.mark.thorough
async def test_the_width_changes_no_byte_and_a_replay_needs_no_network(rig: Rig) -> None:
    first = await rig.done("wide", "env.workers=16")
    second = await rig.done("narrow", "env.workers=1", "gradient.analyst_workers=1")
    for name in set(first) | set(second):
        if name not in ("config.json", "config.yaml") and not name.startswith("logs/"):
            assert first.get(name) == second.get(name), name
    before = rig.calls
    ended = await rig.train("wide", "env.workers=16", "--replay")
    assert ended.code == 0, ended.err
    assert rig.calls == before


@pytest.mark.thorough
async def test_kill_at_any_moment() -> None:
    with tempfile.TemporaryDirectory(dir=FAST if FAST.is_dir() else None, ignore_cleanup_errors=True) as path:
        outcome = await campaign(
            trials=trials(2), kills=3, seed=3, own_hand_share=0.5, scratch=Path(path), train__search="factorial"
        )  # fmt: skip
    assert outcome.different == [] and outcome.failed == [] and outcome.paid_twice == 0
    assert outcome.kills >= trials(2)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("optimizer.skill_update_mode=rewrite_from_suggestions", "optimizer.skill_update_mode: patch"),
        ("evaluation.use_gate=false", "evaluation.use_gate: true"),
    ],
)
async def test_what_cannot_go_together_is_refused(rig: Rig, setting: str, words: str) -> None:
    ended = await rig.train("run", setting)
    assert ended.code != 0 and words in ended.err and rig.calls == 0


async def test_a_budget_that_ends_early_keeps_the_look_and_the_test(rig: Rig) -> None:
    ended = await rig.train("run", "budget.max_calls=200")
    summary = rig.read("run", "summary.json")
    assert ended.code == 0 and "budget" in summary["stopped"]
    assert summary["test"]["hard"] is not None
    assert summary["last_look"]["evaluated_n"] > 0


async def test_the_report_shows_what_each_line_does(rig: Rig) -> None:
    files = await rig.done("run")
    report = files["report.md"].decode()
    assert "## What each line does" in report
    kept = [row for row in rig.read("run", "effects.json") if row["kept"]]
    for row in kept:
        effect, (low, high) = 100 * row["effect"], (100 * end for end in row["interval"])
        assert f"{effect:+.1f} | {low:+.1f} to {high:+.1f} | {row['rollouts']}" in report


@pytest.mark.thorough
async def test_an_extended_run_pays_for_its_next_look_from_what_is_left(rig: Rig) -> None:
    await rig.done("run", "train.num_epochs=1")
    first = rig.read("run", "summary.json")["last_look"]
    draft = rig.read("run", "history.json")[-1]
    await rig.done("run", "train.num_epochs=4")
    second, calls = rig.read("run", "summary.json")["last_look"], rig.calls
    assert rig.read("run", "history.json")[2] == draft, "the rounds before are those of the shorter run"
    assert "ending" not in first["reason"]
    assert "ending 2 of this run: level 0.005, 0.045 of 0.05 spent over all endings" in second["reason"]
    await rig.done("run", "train.num_epochs=4")
    again = rig.read("run", "summary.json")["last_look"]
    assert again == second and rig.calls == calls, "an ending that is repeated is no further look"


async def test_blame_names_each_line_its_proposal_and_its_effect(rig: Rig) -> None:
    await rig.done("run")
    rows = {f"line_{row['line']}": row for row in rig.read("run", "effects.json")}
    best = str(rig.root / "run/best_skill.md")
    traced = json.loads((await rig.command("blame", best, "--json")).out)
    said = [line for line in traced["lines"] if line["text"].strip()]
    assert said and {line["origin"] for line in said} == {name for name, row in rows.items() if row["kept"]}
    for line in said:
        origin, row = traced["origins"][line["origin"]], rows[line["origin"]]
        assert row["edit"]["content"] == line["text"] and origin["step"] == row["born"]
        assert origin["effect"] == row and origin["support"] and origin["proof"]["gate"]["proven"]
    words = (await rig.command("blame", best)).out
    for line in said:
        row = rows[line["origin"]]
        low, high = (f"{100 * end:+.1f}" for end in row["interval"])
        assert f"{100 * row['effect']:+.1f} points on training items, 95 % interval {low} to {high}" in words


async def test_the_plan_says_how_well_a_lines_effect_will_be_known(rig: Rig) -> None:
    ended = await rig.command("plan", "--config", str(rig.config(train__search="factorial", train__batch_size=40)))
    told = re.search(r"factorial: (\d+) rollouts, .* about ± (\d+) points", " ".join(ended.out.split()), re.I)
    assert told is not None, ended.out + ended.err
    assert int(told[2]) == round(100 * half_width(int(told[1])))


async def test_ablate_shows_what_the_run_has_measured_and_pays_nothing(rig: Rig) -> None:
    await rig.done("run")
    kept = [row for row in rig.read("run", "effects.json") if row["kept"]]
    assert kept, "the toy's rules are found"
    paid = rig.calls
    said = (await rig.command("ablate", str(rig.root / "run"))).out
    assert "nothing is paid again" in said and rig.calls == paid
    for row in kept:
        low, high = row["interval"]
        assert f"worth {row['effect']:+.4f}" in said and f"on {row['rollouts']} rollouts" in said
        assert low <= row["effect"] <= high
    rows = json.loads((await rig.command("ablate", str(rig.root / "run"), "--json")).out)
    assert sorted(row["line"] for row in rows) == [row["line"] for row in kept] and rig.calls == paid
