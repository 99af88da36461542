"""The bonus for leading words end to end: it moves the gate's comparison, no score and no claim."""

from __future__ import annotations

import json

import pytest

from skillopt.core.skill import Skill
from skillopt.gate.density import bonus
from skillopt.testing.rig import Rig

from .conftest import ALONE, changed

WORDS = {**ALONE, "evaluation__use_semantic_density": True}


def shouting(body, reply):
    """Edits that change nothing but the tone."""
    del body
    edits = [{"op": "append", "target": None, "content": "You MUST ALWAYS VERIFY."}]
    return {**reply, "patch": {"reasoning": "", "edits": edits}}


async def test_a_text_that_only_shouts_is_kept_with_the_bonus_and_the_report_says_why(rig: Rig) -> None:
    rig.server.answer = changed("analyst", shouting)
    rig.config(**ALONE)
    await rig.done("off")
    assert {r["action"] for r in rig.read("off", "history.json")} == {"reject"}
    rig.config(**WORDS)
    await rig.done("on")
    first = rig.read("on", "history.json")[0]
    summary = rig.read("on", "summary.json")
    assert first["action"] == "accept_new_best" and "for its bonus for words alone" in first["reason"]
    assert first["selection_hard"] == first["current_score"] == summary["baseline_selection_hard"]
    assert first["semantic_density"] == {"candidate_bonus": pytest.approx(0.05 * 3 / 4), "current_bonus": 0.0}
    report = (rig.root / "on/report.md").read_text()
    assert "which is no measured improvement" in report
    assert "Better" not in summary["verdict"] and not report.startswith("# Better")
    assert "semantic_density" not in (rig.root / "off/history.json").read_text()


async def test_weight_and_words_act(rig: Rig) -> None:
    rig.server.answer = changed("analyst", shouting)
    rig.config(**WORDS, evaluation__leading_words="mumble, whisper")
    await rig.done("words")
    assert {r["action"] for r in rig.read("words", "history.json")} == {"reject"}
    rig.config(**WORDS, evaluation__semantic_density_weight=0.0)
    await rig.done("weight")
    assert {r["action"] for r in rig.read("weight", "history.json")} == {"reject"}
    rig.config(**WORDS, evaluation__leading_words=["you"])
    await rig.done("you")
    first = rig.read("you", "history.json")[0]
    candidate = Skill((rig.root / "you/steps/step_0001/candidate_skill.md").read_text())
    assert first["semantic_density"]["candidate_bonus"] == bonus(candidate, 0.05, ["you"]) == 0.05 / 4


@pytest.mark.thorough
async def test_i9_an_early_gate_decides_as_the_full_one(rig: Rig) -> None:
    """With a weight so large that the bonus often decides."""
    decided = 0
    for seed in (5, 12):
        rig.config(
            **WORDS, evaluation__semantic_density_weight=0.6, evaluation__leading_words=["rule", "kind", "avoid"]
        )
        early = await rig.done(f"early{seed}", f"train.seed={seed}")
        full = await rig.done(f"full{seed}", f"train.seed={seed}", "evaluation.gate_early_stop=false")
        assert early["best_skill.md"] == full["best_skill.md"]
        for a, b in zip(json.loads(early["history.json"]), json.loads(full["history.json"]), strict=True):
            assert (a["action"], a["candidate_hash"]) == (b["action"], b["candidate_hash"])
            decided += a["early_stopped"] or "bonus" in a["reason"]
    assert decided


async def test_under_the_paired_rule_it_is_refused_in_one_line(rig: Rig) -> None:
    rig.config(**{**WORDS, "evaluation__gate_rule": "paired"})
    refused = await rig.train("run")
    assert refused.code == 2 and len(refused.err.strip().splitlines()) == 1, refused.err
    assert "evaluation.use_semantic_density" in refused.err and "gate_rule: strict" in refused.err
    assert rig.calls == 0
