"""Provenance from views alone: texts and edits chosen to be hard, written through the record classes of the format, and
runs that were recorded."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.editing.editor import apply_patch
from skillopt.core.editing.regions import with_appendix, with_slow_update
from skillopt.core.skill import Skill
from skillopt.explain.edit_worth import parts
from skillopt.explain.provenance import Traced, trace
from skillopt.records.reading import open_run
from skillopt.records.schema import EpochRecord, GateRecord, NotesRecord, RolloutRow, StepRecord, Summary, TrialRecord
from skillopt.records.vocabulary import Action, Stage
from tests.examples import many
from tests.records.recorded import FIRST as VERSION_1
from tests.records.recorded import every_run

FIRST = Skill("# Boxes\n\n- Look first.\n- Answer in upper case.\n- Stop.\n")


def gate(action: Action, **fields: Any) -> GateRecord:
    """A verdict after nine of nine items."""
    known = {"proven": action.proven, "changed_current": action.kept, "wins": ("s1",), "interval": (-0.1, 0.4)}
    return GateRecord(**{"action": action, "evaluated_n": 9, "selection_n": 9, **known, **fields})


def at_an_end(stage: Stage, action: Action) -> dict[str, Any]:
    """The result file of a mechanism at the end of the first epoch."""
    return EpochRecord(stage=stage, epoch=1, step=1, gate=gate(action)).to_json()


class Views:
    """Writes the views of a run, one step after the other."""

    def __init__(self, root: Path, first: Skill = FIRST) -> None:
        self.root, self.current, self.history = root, first, list[StepRecord]()
        self.text("skills/skill_v0000.md", first.text)

    def text(self, name: str, content: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())

    def json(self, name: str, content: Any) -> None:
        self.text(name, json.dumps(content))

    def step(
        self, edits: Sequence[Edit], *, action: Action = Action.ACCEPT, after: Skill | None = None, **fields: Any
    ) -> Skill:
        """A step whose candidate has these edits. `after` is what is current then, the candidate when it is kept."""
        number = len(self.history) + 1
        base = f"steps/step_{number:04d}"
        candidate, report = apply_patch(self.current, Patch(tuple(edits)))
        self.text(f"{base}/candidate_skill.md", candidate.text)
        self.json(f"{base}/edit_apply_report.json", [s.to_json() for s in report.statuses])
        self.json(f"{base}/ranked_edits.json", Patch(tuple(edits)).to_json())
        group = {"batch_size": 1, "item_ids": [f"i{number}"], "patch": Patch(tuple(edits)).to_json()}
        self.json(f"{base}/patches/minibatch_fail_000.json", group)
        row = RolloutRow(id=f"i{number}", status="scored", hard=0.0, soft=0.0)
        self.text(f"{base}/rollout/results.jsonl", json.dumps(row.to_json()) + "\n")
        self.current = after or (candidate if action.kept else self.current)
        self.history.append(StepRecord(step=number, epoch=1, gate=gate(action, **fields)))
        self.close()
        return candidate

    def close(self) -> None:
        self.text(f"skills/skill_v{len(self.history):04d}.md", self.current.text)
        self.text("best_skill.md", self.current.text)
        self.json("history.json", [record.to_json() for record in self.history])

    def traced(self) -> Traced:
        return trace(open_run(self.root)).of(self.current)

    def origins(self) -> dict[str, str]:
        return {line.text: line.origin for line in self.traced().lines if line.text.strip()}


@pytest.fixture
def views(tmp_path: Path) -> Views:
    return Views(tmp_path)


def append(text: str) -> Edit:
    return Edit("append", None, text)


def test_edits_of_many_steps_and_a_rejected_one_between(views):
    views.step([append("- one"), append("- two")])
    views.step([append("- never")], action=Action.REJECT)
    views.step([Edit("replace", "- one", "- one, twice"), Edit("delete", "- Stop.")])
    assert views.origins() == {
        "# Boxes": "initial",
        "- Look first.": "initial",
        "- Answer in upper case.": "initial",
        "- one, twice": "step_0003/edit_1",
        "- two": "step_0001/edit_2",
    }
    changed = next(line for line in views.traced().lines if line.text == "- one, twice")
    assert changed.earlier == ("step_0001/edit_1",)


def test_a_candidate_that_was_not_kept_is_explained_as_a_branch(views):
    views.step([append("- one")])
    candidate = views.step([append("- never")], action=Action.REJECT)
    traced = trace(open_run(views.root)).of(candidate)
    assert traced.version.name == "candidate of step 2 (not kept)"
    assert {line.text: line.origin for line in traced.lines}["- never"] == "step_0002/edit_1"
    assert traced.causes["step_0002/edit_1"].gate.action is Action.REJECT
    assert "step_0002/edit_1" not in views.traced().causes


def test_a_line_that_is_deleted_and_appended_in_one_step_has_moved(views):
    views.step([Edit("delete", "- Look first."), append("- Look first."), append("- new")])
    assert views.origins()["- Look first."] == "initial"
    views.step([Edit("delete", "- new")])
    views.step([append("- new")])
    assert views.origins()["- new"] == "step_0003/edit_1"


def test_drafts_are_proven_by_a_later_look(views):
    views.step([append("- one")], action=Action.DRAFT, trial=TrialRecord(passed=True, wins=("a",), n=8))
    views.step([append("- two")], action=Action.ACCEPT_NEW_BEST)
    traced = views.traced()
    assert traced.proofs["step_0001/edit_1"].label == "step 2"
    assert traced.proofs["step_0001/edit_1"].gate.action is Action.ACCEPT_NEW_BEST
    assert "step_0002/edit_1" not in traced.proofs
    assert traced.to_json()["origins"]["step_0001/edit_1"]["proof"]["by"] == "step 2"


def test_the_last_look_of_a_run_proves_what_is_left_of_the_drafts(views):
    views.step([append("- one")], action=Action.DRAFT)
    assert views.traced().proofs == {}
    views.json("summary.json", Summary(last_look=gate(Action.ACCEPT_NEW_BEST)).to_json())
    assert views.traced().proofs["step_0001/edit_1"].label == "the last look of the run"


def test_a_draft_that_is_given_up_leaves_the_earlier_text_as_it_was(views):
    views.step([append("- one")])
    proven = views.current
    views.step([Edit("replace", "- one", "- changed")], action=Action.DRAFT)
    views.step([append("- worse")], action=Action.REJECT, after=proven)
    assert views.origins()["- one"] == "step_0001/edit_1"
    views.step([append("- two")], action=Action.ACCEPT_NEW_BEST)
    assert views.traced().proofs == {}


def test_what_pruning_a_draft_gives_back_has_the_origin_it_had(views):
    views.step([append("- one")], action=Action.DRAFT)
    edit = Edit("replace", "- Answer in upper case.", "- Answer in lower case.")
    views.step([edit], action=Action.DRAFT)
    pruned = Skill(views.current.text.replace("lower", "upper"))
    views.step([append("- two")], action=Action.ACCEPT_NEW_BEST, after=Skill(pruned.text + "\n- two\n"))
    assert views.origins() == {
        "# Boxes": "initial",
        "- Look first.": "initial",
        "- Answer in upper case.": "initial",
        "- Stop.": "initial",
        "- one": "step_0001/edit_1",
        "- two": "step_0003/edit_1",
    }


def test_notes_slow_update_and_meta_reflection(views):
    candidate = views.step([append("- one")])
    noted = with_appendix(candidate, ["check units"])
    views.text("steps/step_0001/appendix_candidate_skill.md", noted.text)
    notes = NotesRecord(appendix=gate(Action.FORCE_ACCEPT, reason="by", interval=None, gate_bypassed=True))
    views.history[0] = replace(views.history[0], notes=notes)
    guided = with_slow_update(noted, "look twice")
    views.text("slow_update/epoch_01/candidate_skill.md", guided.text)
    views.json("slow_update/epoch_01/slow_result.json", at_an_end(Stage.SLOW_UPDATE, Action.ACCEPT))
    views.json("slow_update/epoch_01/comparison_pairs.json", [{"id": "i9", "category": "improved"}])
    meta = [append("- from above")]
    final, report = apply_patch(guided, Patch(tuple(meta)))
    views.text("meta_reflect/epoch_01/meta_candidate.md", final.text)
    result = at_an_end(Stage.META_REFLECT, Action.ACCEPT_NEW_BEST)
    views.json("meta_reflect/epoch_01/meta_result.json", result)
    views.json("meta_reflect/epoch_01/meta_patch.json", Patch(tuple(meta)).to_json())
    views.json("meta_reflect/epoch_01/meta_edit_apply_report.json", [s.to_json() for s in report.statuses])
    views.current = final
    views.close()
    traced = views.traced()
    assert {line.text: traced.cause(line).kind for line in traced.lines if line.text.strip()} == {
        **dict.fromkeys(["# Boxes", "- Look first.", "- Answer in upper case.", "- Stop."], "initial"),
        "- one": "edit",
        "- from above": "meta_reflect",
        **dict.fromkeys(["<!-- APPENDIX_START -->", "## Execution Notes Appendix"], "appendix_note"),
        **dict.fromkeys(["- check units", "<!-- APPENDIX_END -->"], "appendix_note"),
        **dict.fromkeys(["<!-- SLOW_UPDATE_START -->", "look twice", "<!-- SLOW_UPDATE_END -->"], "slow_update"),
    }
    assert traced.causes["step_0001/appendix_note"].gate.gate_bypassed
    assert traced.causes["slow_update_epoch_01"].support[0].item_ids == ("i9",)
    assert [p.cause.name for p in parts(traced)] == [
        "step_0001/edit_1", "step_0001/appendix_note", "slow_update_epoch_01", "meta_reflect_epoch_01/edit_1",
    ]  # fmt: skip
    assert (
        traced.without(["slow_update_epoch_01"]).version.skill.text.split() == with_slow_update(final, "").text.split()
    )


def test_a_rewrite_keeps_what_it_repeats_and_owns_the_rest(views):
    rewritten = Skill("# Boxes, anew\n\n- Stop.\n- Look first.\n- Weigh it.\n")
    views.text("steps/step_0001/candidate_skill.md", rewritten.text)
    views.json("steps/step_0001/rewrite_result.json", {"change_summary": []})
    views.history.append(StepRecord(step=1, epoch=1, gate=gate(Action.ACCEPT)))
    views.current = rewritten
    views.close()
    assert views.origins() == {
        "# Boxes, anew": "step_0001/rewrite",
        "- Stop.": "initial",
        "- Look first.": "initial",
        "- Weigh it.": "step_0001/rewrite",
    }


def test_long_edits_are_whole_again_although_the_report_cuts_them(views):
    long = "- " + "word " * 80 + "end."
    views.step([append(long), append(long.replace("end.", "stop."))])
    origins = views.origins()
    assert origins[long] == "step_0001/edit_1"
    assert origins[long.replace("end.", "stop.")] == "step_0001/edit_2"


WORDS = st.sampled_from(["alpha", "beta", "γ", "delta — x"])


@st.composite
def runs(draw):
    """Steps of edits; the k-th edit of step s brings lines that say `s<s>k<k>`."""
    steps = []
    for s in range(1, draw(st.integers(1, 4)) + 1):
        edits = []
        for k in range(1, draw(st.integers(1, 3)) + 1):
            op = draw(st.sampled_from(["append", "insert_after", "replace", "delete"]))
            lines = "\n".join(f"- {draw(WORDS)} s{s}k{k}" for _ in range(draw(st.integers(1, 2))))
            edits.append((op, lines, draw(st.integers(0, 30))))
        steps.append((edits, draw(st.sampled_from([Action.ACCEPT, Action.ACCEPT, Action.REJECT]))))
    return steps


@settings(max_examples=many(120))
@given(runs(), st.booleans())
def test_replaying_random_accepted_edits_finds_the_edit_behind_each_line(steps, crlf):
    with tempfile.TemporaryDirectory() as folder:
        first = Skill(FIRST.text.replace("\n", "\r\n")) if crlf else FIRST
        views = Views(Path(folder), first)
        for edits, action in steps:
            body = [line.strip() for line in views.current.text.split("\n") if line.strip()]
            made = [
                Edit(op, body[at % len(body)] if op != "append" and body else None, None if op == "delete" else lines)
                for op, lines, at in edits
            ]
            views.step(made, action=action)
        traced = views.traced()
        for line in traced.lines:
            named = re.search(r"s(\d+)k(\d+)", line.text)
            if named:
                assert line.origin == f"step_{int(named[1]):04d}/edit_{named[2]}"
            elif line.text.strip():
                assert line.origin == "initial"
            assert line.origin in traced.causes
        check_undo(traced)


def check_undo(traced: Traced) -> None:
    """Leaving an edit out takes its lines and only those; what was left out is not left over."""
    for part in parts(traced):
        left = [line.strip() for line in part.without.text.split("\n")]
        number = re.fullmatch(r"step_0*(\d+)/edit_(\d+)", part.cause.name)
        assert number and not [line for line in left if line.endswith(f"s{number[1]}k{number[2]}")]
        others = [line.text.strip() for line in traced.lines if line.origin != part.cause.name and line.text.strip()]
        assert not [line for line in others if line not in left]


@pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_text_of_a_recorded_run_has_an_origin_for_every_line(root):
    run = open_run(root)
    provenance = trace(run)
    texts = [run.best, run.initial, *(s for r in run.steps if (s := run.skill_after(r.step)) is not None)]
    for skill in texts:
        traced = provenance.of(skill)
        assert all(traced.cause(line).kind != "unrecorded" for line in traced.lines)


def test_a_recorded_run_of_the_paired_rule_has_drafts_and_what_proved_them():
    lineage = trace(open_run(VERSION_1 / "paired")).lineage
    drafts = [c.name for c in lineage.causes.values() if c.gate is not None and c.gate.action is Action.DRAFT]
    assert {"step_0004/edit_1", "slow_update_epoch_02"} <= set(drafts)
    assert {p.label for p in lineage.proofs.values()} == {"the last look of the run"}
    assert "step_0001/edit_1" not in lineage.proofs, "that draft was given up at the end of its epoch"
