"""Skill-aware reflection end to end: notes at the gate, past it, on the ways around it, and in the files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.editing.regions import appendix_notes, note_key, with_appendix, without_empty_regions
from skillopt.core.skill import APPENDIX, Skill
from skillopt.testing.rig import Rig
from skillopt.testing.toy_task import answer

from .conftest import ALONE, AWARE, asked, changed, rows, stage_of, targets, text_of

HELP = "Kind 3 is easily overlooked: RULE 3 holds."
HARM = "When unsure, " + ", ".join(f"AVOID {kind}" for kind in range(8)) + "."
ACCEPTS = ("accept", "accept_new_best", "force_accept")


def only_notes(*notes: str):
    """Analysts that propose nothing but these notes."""

    def change(body: Any, reply: Any) -> Any:
        del body
        return {**reply, "patch": {"reasoning": "", "edits": []}, "appendix_notes": list(notes)}

    return changed("analyst", change)


def skill(rig: Rig, name: str, run: str = "run") -> Skill:
    return Skill((rig.root / run / name).read_text())


def history(rig: Rig, run: str = "run") -> list[dict[str, Any]]:
    return rig.read(run, "history.json")


def measured_texts(run: Path) -> Iterator[tuple[Path, Path]]:
    yield run / "selection_eval_baseline", run / "skills/skill_v0000.md"
    for step in sorted((run / "steps").iterdir()):
        for folder, text in (("selection_eval", "candidate_skill.md"),
                             ("appendix_selection_eval", "appendix_candidate_skill.md")):  # fmt: skip
            if (step / folder).exists():
                yield step / folder, step / text


async def test_the_empty_block_is_in_the_first_bytes_and_costs_nothing(rig: Rig) -> None:
    rig.config(**ALONE)
    await rig.done("off", "train.num_epochs=1")
    before = {text_of(b) for b in targets(rig)}
    rig.server.bodies = []
    rig.config(**AWARE)
    rig.server.answer = changed("analyst", lambda body, reply: {**reply, "appendix_notes": []})
    await rig.done("on", "train.num_epochs=1")
    first = skill(rig, "skills/skill_v0000.md", "on")
    assert first.text.count(APPENDIX[0]) == first.text.count("## Execution Notes Appendix") == 1
    assert without_empty_regions(first.text) == ""
    baseline = rows(rig.root / "on/selection_eval_baseline/results.jsonl")
    assert {row["skill_hash"] for row in baseline} == {first.hash}
    mine = {text_of(b) for b in targets(rig) if "RULE" not in text_of(b, "system")}
    assert mine <= before, "the target is sent the requests of a run without the block"
    assert all(r["appendix"]["action"] == "not_tried" and r["n_execution_lapse_notes"] == 0 for r in history(rig, "on"))


@pytest.mark.thorough
async def test_i1_every_measured_text_has_its_own_score(rig: Rig) -> None:
    rig.config(**AWARE)
    await rig.done("run", "train.num_epochs=3")
    run = rig.root / "run"
    said = {(text_of(b, "system"), text_of(b, "user")): b for b in targets(rig)}
    gold = {i["id"]: i["answer"] for i in json.loads((rig.data / "val/items.json").read_text())}
    for folder, text in measured_texts(run):
        one = Skill(text.read_text())
        for row in rows(folder / "results.jsonl"):
            assert row["skill_hash"] == one.hash
            place = folder / "predictions" / row["id"]
            system = (place / "target_system_prompt.txt").read_text()
            assert without_empty_regions(one.text).strip() in system
            reply = answer(said[system, (place / "target_user_prompt.txt").read_text()])[0]
            assert row["hard"] == float(re.sub("</?answer>", "", reply) == gold[row["id"]])
    scores = {skill(rig, "skills/skill_v0000.md").hash: rig.read("run", "summary.json")["baseline_selection_hard"]}
    kept = 0
    for record in history(rig):
        for verdict in (record, record["appendix"]):
            if verdict.get("selection_hard") is not None:
                scores[verdict["candidate_hash"]] = verdict["selection_hard"]
        kept += record["appendix"]["action"] in ACCEPTS
        current = skill(rig, f"skills/skill_v{record['step']:04d}.md")
        assert record["current_score"] == scores[current.hash], "what stands after a step was measured on its bytes"
        assert record["n_appendix_notes_total"] == len(appendix_notes(current))
    assert kept > 0
    summary = rig.read("run", "summary.json")
    assert summary["best_selection_hard"] == scores[summary["best_skill_hash"]]
    assert skill(rig, "best_skill.md").hash == summary["best_skill_hash"]


async def test_notes_alone_reach_the_gate_on_the_way_around_it(rig: Rig) -> None:
    rig.config(**AWARE)
    rig.server.answer = only_notes(HELP, "kind 3 is  easily overlooked: RULE 3 holds;")
    await rig.done("run")
    first, *rest = history(rig)
    assert first["action"] == "skip_no_patches" and first["selection_hard"] is None
    assert first["appendix"]["action"] == "accept_new_best" and first["current_origin"] == "appendix_step_0001"
    assert first["n_execution_lapse_notes"] >= 2 and first["n_appendix_notes_added"] == 1
    assert appendix_notes(skill(rig, "best_skill.md")) == (HELP,), "the first wording wins"
    assert all(r["appendix"]["action"] == "not_tried" and r["appendix"]["reason"] == "no new note" for r in rest)
    notes = rig.read("run", "steps/step_0001/appendix_notes.json")
    assert notes["appendix_after"] == [HELP] and HELP in notes["step_notes"] and notes["pending"] == []
    assert notes["measured_hash"] == skill(rig, "steps/step_0001/appendix_candidate_skill.md").hash
    report = (rig.root / "run/report.md").read_text()
    assert "1 are in the last skill, 0 are pending" in report and "Why nothing was kept" not in report


async def test_refused_notes_stay_pending_are_listed_and_not_measured_twice(rig: Rig) -> None:
    rig.config(**AWARE)
    rig.server.answer = only_notes(HARM)
    before = await rig.done("run", "evaluation.prefetch=false")
    first, second, *_ = history(rig)
    assert first["appendix"]["action"] == "reject" and first["appendix"]["evaluated_n"] > 0
    assert (
        second["appendix"]["action"] == "not_tried" and second["appendix"]["reason"] == "this text was refused before"
    )
    for step in (1, 2, 3, 4):
        notes = rig.read("run", f"steps/step_{step:04d}/appendix_notes.json")
        assert notes["pending"] == [{"note": HARM, "step": 1, "status": "rejected"}]
        assert notes["appendix_after"] == []
    assert HARM not in (rig.root / "run/best_skill.md").read_text()
    report = (rig.root / "run/report.md").read_text()
    assert "1 are pending" in report and "passed the gate by" not in report
    assert sum(HARM in text_of(b, "system") for b in targets(rig)) == first["appendix"]["evaluated_n"]
    calls = rig.calls
    again = await rig.done("run", "evaluation.prefetch=false")
    assert again == before and rig.calls == calls, "pending notes survive a restart: they are derived"


async def test_forced_notes_are_kept_measured_and_confessed(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__skill_aware_gate_with_selection=False)
    rig.server.answer = only_notes(HARM)
    await rig.done("run")
    first = history(rig)[0]
    assert first["appendix"]["action"] == "force_accept" and first["appendix"]["gate_bypassed"] is True
    assert first["appendix"]["evaluated_n"] == 12, "the whole split is measured"
    measured = rows(rig.root / "run/steps/step_0001/appendix_selection_eval/results.jsonl")
    assert first["current_score"] == first["appendix"]["selection_hard"] == sum(r["hard"] for r in measured) / 12
    assert first["current_score"] < first["best_score"], "a harmful note lowers the current skill and not the best"
    assert appendix_notes(skill(rig, "skills/skill_v0001.md")) == (HARM,)
    assert HARM not in (rig.root / "run/best_skill.md").read_text()
    assert "passed the gate by" in (rig.root / "run/report.md").read_text()
    assert "skill_aware_gate_with_selection" in first["appendix"]["reason"]


async def test_notes_after_a_candidate_are_measured_on_the_text_it_left(rig: Rig) -> None:
    """The flush is a second decision: the accepted candidate with its notes, or the old skill with them."""
    rig.config(**AWARE)
    bases: set[bool] = set()
    for seed in (12, 5, 7):
        run = f"run{seed}"
        await rig.done(run, f"train.seed={seed}", "train.num_epochs=3")
        for record in history(rig, run):
            folder = f"steps/step_{record['step']:04d}"
            if record["appendix"]["action"] == "not_tried" or record["candidate_hash"] is None:
                continue
            accepted = record["action"] in ACCEPTS
            before = f"{folder}/candidate_skill.md" if accepted else f"skills/skill_v{record['step'] - 1:04d}.md"
            tried = skill(rig, f"{folder}/appendix_candidate_skill.md", run)
            notes = rig.read(run, f"{folder}/appendix_notes.json")["tried"]
            assert tried == with_appendix(skill(rig, before, run), notes)
            assert tried.hash == record["appendix"]["candidate_hash"]
            bases.add(accepted)
        if len(bases) == 2:
            break
    assert bases == {True, False}


async def test_a_long_list_is_shortened_once_and_the_shorter_one_is_measured(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__skill_aware_consolidate_threshold=2)
    rig.server.answer = only_notes(HELP, "Look twice.", "Read slowly.", "Breathe.")
    await rig.done("run")
    first = history(rig)[0]
    assert (first["n_appendix_notes_added"], first["n_appendix_notes_consolidated"]) == (2, 2)
    assert appendix_notes(skill(rig, "best_skill.md")) == (HELP, "Look twice.")
    body = asked(rig, "appendix_consolidate")[0]
    assert all(f"- {note}" in text_of(body, "user") for note in (HELP, "Look twice.", "Read slowly.", "Breathe."))
    assert body.get("max_tokens", body.get("max_completion_tokens")) == 4096
    assert first["tokens"]["appendix_consolidate"]["calls"] == 1


async def test_a_list_that_does_not_get_shorter_stays_and_is_told(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__skill_aware_consolidate_threshold=1)
    notes = only_notes(HELP, "Look twice.")

    def answering(body: Any) -> tuple[str, Any]:
        text, usage = notes(body)
        return (json.dumps({"notes": []}) if stage_of(body) == "appendix_consolidate" else text), usage

    rig.server.answer = answering
    await rig.done("run", "train.num_epochs=1")
    first = history(rig)[0]
    assert first["n_appendix_notes_consolidated"] == 0 and first["n_appendix_notes_added"] == 2
    file = rig.read("run", "steps/step_0001/appendix_notes.json")
    assert "dropped" in file["not_consolidated"] and first["n_dropped_replies"] >= 1


async def test_the_source_decides_whose_notes_count(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__skill_aware_appendix_source="failure_only")
    rig.server.answer = changed("analyst_success", lambda body, reply: {**reply, "appendix_notes": [HELP]})
    await rig.done("run")
    assert HELP not in (rig.root / "run/history.json").read_text()
    for step in sorted((rig.root / "run/steps").iterdir()):
        assert HELP not in (step / "appendix_notes.json").read_text()
    assert all("appendix_notes" not in json.dumps(b) for b in asked(rig, "analyst_success"))
    assert all("appendix_notes" in json.dumps(b) for b in asked(rig, "analyst_failure"))


async def test_notes_that_copy_answers_do_not_enter(rig: Rig) -> None:
    items = json.loads((rig.data / "train/items.json").read_text())
    leak = f"Box answers: {items[0]['question']} {items[0]['answer']}"
    rig.config(**AWARE)
    rig.server.answer = only_notes(leak, HELP)
    await rig.done("run")
    first = rig.read("run", "steps/step_0001/appendix_notes.json")
    assert first["tried"] == [HELP] and len(first["vetoed"]) == 1
    for path in (rig.root / "run").glob("**/*skill*.md"):
        assert items[0]["question"] not in path.read_text()


async def test_a_rewrite_without_text_still_handles_its_notes(rig: Rig) -> None:
    """The second way around the gate: `skip_no_rewrite`."""
    suggestion = {"type": "add_rule", "title": "t", "motivation": "m", "instruction": "i", "priority_hint": "high"}

    def answering(body: Any) -> tuple[str, Any]:
        text, usage = answer(body)
        if stage_of(body).startswith("analyst"):
            reply = {"batch_size": 1, "failure_summary": [], "success_patterns": [], "labels": [],
                     "patch": {"reasoning": "", "revise_suggestions": [suggestion]},
                     "appendix_notes": [HELP]}  # fmt: skip
            return json.dumps(reply), usage
        if stage_of(body) == "rewrite":
            return "no document", usage
        return text, usage

    rig.server.answer = answering
    rig.config(**AWARE, optimizer__skill_update_mode="rewrite_from_suggestions")
    await rig.done("run")
    first = history(rig)[0]
    assert first["action"] == "skip_no_rewrite"
    assert first["appendix"]["action"] == "accept_new_best" and first["n_appendix_notes_added"] == 1


async def test_where_whole_documents_are_asked_for_there_is_a_notice_and_no_block(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__skill_update_mode="full_rewrite_minibatch")
    ended = await rig.train("run", "train.num_epochs=1")
    assert ended.code == 0, ended.err
    assert "use_skill_aware_reflection has no effect" in ended.out
    assert APPENDIX[0] not in (rig.root / "run/skills/skill_v0000.md").read_text()
    assert all("appendix" not in r for r in history(rig))


@pytest.mark.thorough
@pytest.mark.cases(1)
@pytest.mark.parametrize("forced", [False, True])
async def test_i4_header_and_the_other_region_stay_and_edits_cannot_reach_the_appendix(rig: Rig, forced: bool) -> None:
    header = "---\nname: boxes\ndescription: What boxes hold.\n---\n"
    region = "<!-- SLOW_UPDATE_START -->\nKeep this guidance.\n<!-- SLOW_UPDATE_END -->"
    (rig.root / "skill.md").write_text(f"{header}\n# Boxes\n\nLook closely.\n\n{region}\n")
    attacks = [
        {"op": "replace", "target": "## Execution Notes Appendix", "content": "taken"},
        {"op": "insert_after", "target": APPENDIX[0], "content": "- smuggled"},
        {"op": "append", "target": None, "content": f"{APPENDIX[0]}\n- smuggled\n{APPENDIX[1]}"},
        {"op": "delete", "target": "name: boxes", "content": None},
    ]

    def attack(body: Any, reply: Any) -> Any:
        reply["patch"]["edits"] = [attacks[len(text_of(body)) % 4], *reply["patch"]["edits"]]
        reply["appendix_notes"] = [*reply["appendix_notes"], f"{APPENDIX[1]} Step out. {APPENDIX[0]}"]
        return reply

    rig.server.answer = changed("analyst", attack)
    rig.config(**AWARE, env__skill_init=str(rig.root / "skill.md"), optimizer__lr_control_mode="none",
               optimizer__skill_aware_gate_with_selection=not forced)  # fmt: skip
    await rig.done("run")
    run = rig.root / "run"
    for path in [run / "best_skill.md", *run.glob("skills/*.md"), *run.glob("steps/*/*candidate_skill.md")]:
        text = path.read_text()
        assert text.startswith(header), path
        assert text.count(region) == text.count(APPENDIX[0]) == text.count(APPENDIX[1]) == 1, path
        assert "- smuggled" not in appendix_notes(Skill(text)), path
    if forced:
        notes = appendix_notes(skill(rig, "skills/skill_v0004.md"))
        assert "Step out." in notes and len({note_key(n) for n in notes}) == len(notes)


async def test_the_compact_profile_is_refused_in_one_line(rig: Rig) -> None:
    rig.config(**AWARE, optimizer__analyst_profile="compact")
    refused = await rig.train("run")
    assert refused.code == 2 and len(refused.err.strip().splitlines()) == 1
    assert "use_skill_aware_reflection" in refused.err and "analyst_profile: full" in refused.err
    assert rig.calls == 0
