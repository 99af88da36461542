"""The rule `proof` in whole runs: training items climb, one look at the end, endings that pay, a test that is kept."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import pytest

from skillopt.core.errors import StopRun
from skillopt.core.skill import Skill
from skillopt.engine.acceptance.candidate import Candidate
from skillopt.engine.acceptance.proof import prove
from skillopt.engine.run.context import RunContext
from skillopt.engine.run.spending.budget import Budget
from skillopt.engine.state import TrainState
from skillopt.testing.trees import differences, tree
from tests.engine.acceptance.conftest import Run
from tests.engine.acceptance.test_paired_rule import CUT, NOTHING

PROOF = {"evaluation__gate_rule": "proof"}
SMALL = {"train": 48, "val": 40, "test": 12}


async def test_a_true_gain_is_proven_once_and_nothing_else_asks_the_selection_split(run: Run) -> None:
    done = await run(train__num_epochs=2, **PROOF)
    assert done.summary["last_look"]["action"] == "accept_new_best"
    assert done.summary["last_look"]["alpha"] == 0.04
    assert done.summary["paired"]["interval"][0] > 0
    assert done.best != ""
    assert done.summary["best_selection"]["n"] == 48
    assert {r["action"] for r in done.history} <= {"draft", "undecided", "reject", "skip_no_patches"}
    stages = [a["stage"] for a in done.asked]
    assert len(done.stages("gate")) <= 48
    assert done.summary["token_summary"]["gate"]["calls"] == len(done.stages("gate")), "no call is counted twice"
    assert max(n for n, s in enumerate(stages) if s == "rollout") < min(n for n, s in enumerate(stages) if s == "gate")
    assert not (done.root / "draft_skill.md").exists()
    assert "test_reading" not in done.summary


async def test_luck_is_no_gain(run: Run) -> None:
    done = await run(NOTHING, train__num_epochs=3, sizes=SMALL, **PROOF)
    assert done.best == ""
    assert done.summary["total_accepts"] == 0


async def test_what_is_not_proven_stays_beside_the_initial_skill_and_is_named(run: Run) -> None:
    done = await run(train__num_epochs=1, evaluation__gate_alpha=1e-6, sizes=SMALL, **PROOF)
    assert done.best == ""
    assert (done.root / "draft_skill.md").read_text() != ""
    assert done.summary["unproven_draft"]
    assert "draft_skill.md), unproven: not proven at alpha" in done.summary["verdict"]


async def test_an_extended_run_pays_for_its_next_ending_and_says_so(run: Run) -> None:
    settings = {**PROOF, "sizes": SMALL}
    first = await run(train__num_epochs=1, **settings)
    assert (first.summary["last_look"]["alpha"], first.summary["last_look"]["alpha_left"]) == (0.04, 0.01)
    again = await run(train__num_epochs=1, **settings)
    assert again.summary["last_look"] == first.summary["last_look"]
    more = await run(train__num_epochs=3, **settings)
    assert (more.summary["last_look"]["alpha"], more.summary["last_look"]["alpha_left"]) == (0.005, 0.005)
    assert more.summary["last_look"]["action"] == "accept_new_best" or more.best == first.best
    assert "ending 2 of this run: level 0.005, 0.045 of 0.05 spent" in more.summary["last_look"]["reason"]
    assert more.summary["test_reading"] == 2
    assert "reading 2 of the sealed test" in more.summary["verdict"]
    same = await run(train__num_epochs=3, **settings)
    assert same.summary == more.summary


async def test_what_an_ending_proved_is_kept_when_the_next_one_proves_nothing(run: Run) -> None:
    sour = """
def answer(request):
    return "nothing" if request.stage == "gate" and Path(LOG + ".sour").exists() else None
"""
    settings = {**PROOF, "sizes": SMALL}
    first = await run(sour, train__num_epochs=1, **settings)
    assert first.summary["last_look"]["action"] == "accept_new_best"
    (first.root.parent / "run.jsonl.sour").touch()
    more = await run(sour, train__num_epochs=3, **settings)
    assert more.summary["last_look"]["action"] != "accept_new_best"
    assert more.best == first.best
    for name in ("best_step", "best_gate_score", "best_origin", "best_selection", "test"):
        assert more.summary[name] == first.summary[name]
    assert (more.root / "draft_skill.md").read_text() != more.best


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.4, pytest.param(0.75, marks=pytest.mark.slow_campaign)])
async def test_i3_stopped_anywhere_and_run_again_gives_the_same_bytes(run: Run, share: float) -> None:
    whole = await run(name="whole", train__num_epochs=1, sizes=SMALL, **PROOF)
    assert whole.summary["last_look"]["alpha"] == 0.04
    training = [a["stage"] for a in whole.asked].index("gate")
    script = CUT.replace("AT", str(int(share * training)))
    with pytest.raises(StopRun):
        await run(script, name="cut", train__num_epochs=1, sizes=SMALL, **PROOF)
    again = await run(script, name="cut", train__num_epochs=1, sizes=SMALL, **PROOF)
    own = {"config.json", "config.yaml"}  # they name the data and the script
    assert set(differences(tree(whole.root), tree(again.root))) <= own


@pytest.mark.thorough
async def test_a_look_that_was_cut_off_is_taken_again_at_its_own_price(run: Run) -> None:
    """The price is paid before the first item is asked; the same text finds its entry."""
    whole = await run(name="whole", train__num_epochs=1, sizes=SMALL, **PROOF)
    stages = [a["stage"] for a in whole.asked]
    script = CUT.replace("AT", str(stages.index("gate") + 5))
    cut = await run(script, name="cut", train__num_epochs=1, sizes=SMALL, **PROOF)
    assert "not looked at: the line was cut" in cut.summary["last_look"]["reason"]
    assert cut.best == "" and cut.summary["unproven_draft"]
    again = await run(script, name="cut", train__num_epochs=1, sizes=SMALL, **PROOF)
    assert again.summary["last_look"] == whole.summary["last_look"]


@pytest.mark.parametrize("calls", [300, 420])
async def test_a_capped_run_keeps_its_look_and_its_test(run: Run, calls: int) -> None:
    done = await run(train__num_epochs=9, budget__max_calls=calls, sizes=SMALL, **PROOF)
    assert "budget reached" in done.summary["stopped"]
    assert done.summary["baseline_test"]["hard"] is not None
    assert done.summary["test"]["hard"] is not None
    assert "not looked at" not in json.dumps(done.summary.get("last_look", {}))
    assert len(done.asked) <= calls


@pytest.mark.thorough
async def test_pruning_leaves_a_small_cap_to_training(run: Run) -> None:
    done = await run(train__num_epochs=9, budget__max_calls=190, sizes=SMALL, **PROOF)
    assert done.history, "pruning takes no more than a share of the cap"
    assert done.summary["test"]["hard"] is not None and len(done.asked) <= 190


async def test_patience_ends_with_a_look_and_a_test(run: Run) -> None:
    done = await run(NOTHING, train__num_epochs=6, budget__patience=2, sizes=SMALL, **PROOF)
    assert "patience" in done.summary["stopped"]
    assert done.summary["test"]["hard"] is not None


async def test_guidance_that_is_forced_in_is_a_draft_and_asks_no_selection_item(run: Run) -> None:
    settings = {"optimizer__use_slow_update": True, "optimizer__slow_update_gate_with_selection": False}
    done = await run(train__num_epochs=2, sizes=SMALL, **PROOF, **settings)
    forced = done.read("slow_update/epoch_02/slow_result.json")
    assert forced["action"] in ("force_accept", "no_content")
    assert done.summary["best_origin"] != "initial_skill" or done.best == ""
    assert len(done.stages("gate")) <= SMALL["val"]


async def test_a_split_on_which_nothing_can_be_proven_still_ends_with_a_draft(run: Run) -> None:
    done = await run(train__num_epochs=1, sizes={"train": 48, "val": 4, "test": 12}, **PROOF)
    assert done.best == ""
    assert done.stages("gate") == []
    assert (done.root / "draft_skill.md").exists() == ("unproven_draft" in done.summary)


async def test_a_run_that_is_to_end_enters_no_look() -> None:
    """Ctrl-C during a factorial search once spent the first look, and the run that went on had little level left."""

    def ended() -> None:
        raise StopRun("interrupted")

    journalless = cast("RunContext", SimpleNamespace(budget=Budget(check=ended)))
    candidate = Candidate(Skill("a line"), "step 1", 1)
    with pytest.raises(StopRun, match="interrupted"):
        await prove(candidate, cast("TrainState", None), journalless)


@pytest.mark.thorough
async def test_a_look_that_saw_nothing_is_no_ending(run: Run) -> None:
    """The endpoint dies before the first answer; the run extended looks at another text, at the whole level."""
    settings = {"train__search": "factorial", "sizes": SMALL}
    whole = await run(name="whole", train__num_epochs=1, **settings)
    script = CUT.replace("AT", str([a["stage"] for a in whole.asked].index("gate") + 1))
    cut = await run(script, name="cut", train__num_epochs=1, **settings)
    assert "not looked at" in cut.summary["last_look"]["reason"] and cut.summary["unproven_draft"]
    more = await run(script, name="cut", train__num_epochs=3, **settings)
    assert more.summary["last_look"]["candidate_hash"] != cut.summary["unproven_draft"]
    assert more.summary["last_look"]["alpha"] == 0.04
