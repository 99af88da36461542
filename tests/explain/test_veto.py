"""Lint as an acceptance veto: what breaks a skill's form or brings a secret never reaches the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.cli.main import invoke
from skillopt.config import OptimizerSection
from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.skill import Skill
from skillopt.engine.run.prepare import leak_index
from skillopt.envs.base import Splits
from skillopt.optimizer.veto import complaints, faults, in_proposed_order, lines_without_faults, without_faults
from tests.explain import toy_runs
from tests.explain.toy_runs import SKILL, run, write_project

KEY = "sk-" + "aB3dE5gH7jK9" * 3
BELL = "- Ring the bell \x07 twice."
ON, OFF = OptimizerSection(), OptimizerSection(lint_veto="off")


def append(text: str) -> Edit:
    return Edit("append", None, text)


def test_the_faulty_edit_goes_and_the_others_stay():
    edits = (append("- one"), append(f"- use {KEY}"), append("- two\x07"), append("- three"))
    kept, vetoed = without_faults(ON, Skill(SKILL), Patch(edits, "why"))
    assert kept == Patch((edits[0], edits[3]), "why")
    assert [(v.index, [f.rule for f in v.leaks]) for v in vetoed] == [(2, ["secret"]), (3, ["text.control"])]
    assert KEY not in json.dumps([v.to_json() for v in vetoed])
    assert without_faults(OFF, Skill(SKILL), Patch(edits)) == (Patch(edits), [])


def test_what_was_wrong_before_is_no_reason_to_refuse_an_edit():
    had = Skill(f"---\nname: Bad Name\n---\n- send {KEY}\n")
    patch = Patch((append("- one"), Edit("replace", f"- send {KEY}", f"- please send {KEY}")))
    assert without_faults(ON, had, patch) == (patch, [])


def test_numbers_are_those_of_the_patch_as_it_was_proposed():
    edits = tuple(append(text) for text in ("- a", "- b", f"- {KEY}"))
    _, vetoed = without_faults(ON, Skill("x\n"), Patch(edits[1:]))
    assert [v.index for v in in_proposed_order(vetoed, Patch(edits))] == [3]


@pytest.mark.parametrize(
    "after",
    [
        SKILL.replace("name: boxes\r\n", ""),
        SKILL.replace('description: "Boxes: what they hold"', "description: Boxes: what they hold"),
        SKILL.replace("name: boxes", "name: " + "b" * 65),
        SKILL + "<!-- APPENDIX_START -->\n",
        SKILL + "\n<!-- SLOW_UPDATE_END -->\n",
    ],
)
def test_a_text_without_its_header_or_with_half_a_region_is_faulty(after):
    assert faults(ON, Skill(SKILL), Skill(after))
    assert not faults(OFF, Skill(SKILL), Skill(after))
    assert not faults(ON, Skill(after), Skill(after + "- one more\n"))


def test_guidance_loses_the_line_and_keeps_the_rest():
    text, vetoed = lines_without_faults(ON, Skill(SKILL), f"Look twice.\nSend {KEY}.\n\nWeigh it.")
    assert text == "Look twice.\n\nWeigh it." and len(vetoed) == 1
    assert lines_without_faults(ON, Skill(SKILL), "Look twice.\n") == ("Look twice.\n", [])


def test_a_run_that_starts_from_an_unsound_skill_says_so(tmp_path, capsys):
    bad = SKILL.replace('"Boxes: what they hold"', "Boxes: what they hold")
    config = write_project(tmp_path, bad, train__num_epochs=1)
    assert invoke(["train", "--config", str(config), f"env.out_root={tmp_path / 'run'}", "--yes"]) == 0
    assert "warning: the initial skill, line 3: strict YAML refuses the header" in capsys.readouterr().out
    assert complaints(Skill(SKILL)) == []


def with_bell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Path:
    """A run whose optimizer writes a control character into every patch, text or guidance."""
    said = toy_runs.respond

    def respond(request: Any) -> str:
        text = said(request)
        if request.schema is None:
            return text
        reply = json.loads(text)
        for holder in (reply, reply.get("patch") or {}):
            if isinstance(holder.get("edits"), list):
                holder["edits"].insert(0, {"op": "append", "target": None, "content": BELL})
            if "new_skill" in holder:
                holder["new_skill"] += f"\n{BELL}\n"
            if "slow_update_content" in holder:
                holder["slow_update_content"] += f"\n{BELL}"
        return json.dumps(reply)

    monkeypatch.setattr(toy_runs, "respond", respond)
    return run(write_project(tmp_path, **changes), tmp_path / "run")


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions"])
def test_in_a_run_no_text_has_the_fault_and_the_good_edits_are_kept(tmp_path, monkeypatch, mode):
    root = with_bell(tmp_path, monkeypatch, optimizer__skill_update_mode=mode, evaluation__use_gate=False,
                       optimizer__use_slow_update=True, train__num_epochs=3)  # fmt: skip
    skills = [*root.glob("skills/*.md"), *root.rglob("candidate_skill.md"), root / "best_skill.md"]
    assert skills and all(BELL not in path.read_text() for path in skills)
    if mode == "patch":
        assert "RULE" in (root / "best_skill.md").read_text()
        vetoed = json.loads((root / "steps/step_0001/vetoed.json").read_text())
        assert any(leak["rule"] == "text.control" for row in vetoed for leak in row["leaks"])
        assert json.loads((root / "history.json").read_text())[0]["n_edits_vetoed"] >= 1


def test_switched_off_it_lets_them_through(tmp_path, monkeypatch):
    root = with_bell(tmp_path, monkeypatch, optimizer__lint_veto="off", evaluation__use_gate=False)
    assert BELL in (root / "skills/skill_v0001.md").read_text()


class _Judged:
    """An environment whose judge is told a rubric."""

    def task_text(self, item: Any) -> str:
        return ""

    def golds(self, item: Any) -> tuple[str, ...]:
        return ()

    def judge_texts(self) -> list[str]:
        return [
            "Give full marks only to answers that list each rejected invoice by supplier before giving totals."
        ] * 50


def test_a_judges_text_is_leakage_and_its_excerpt_stays_sealed():
    index = leak_index(_Judged(), Splits((), (), ()))  # type: ignore[arg-type]
    (leak,) = index.find("- First list each rejected invoice by supplier, before giving totals.", allowed="")
    assert (leak.source, leak.rule, leak.excerpt) == ("judge_text", "words", "")
    assert str(leak) == "repeats the words of a judge text"
    assert index.find("- Name the supplier first, then the totals.", allowed="") == []
