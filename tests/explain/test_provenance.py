"""I8 on whole runs: every line of the best skill, and of every other accepted text, has an origin with its evidence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from skillopt.core.editing.origins import lines_of, text_of
from skillopt.core.errors import RunDirError
from skillopt.core.skill import MARKERS, Skill
from skillopt.explain.provenance import Provenance, Traced, trace
from skillopt.records.reading import open_run
from tests.explain.conftest import MODES
from tests.explain.toy_runs import ANCHOR, IDLE, run, write_project


def best_of(root: Path) -> tuple[Provenance, Traced]:
    provenance = trace(open_run(root))
    return provenance, provenance.of(Skill((root / "best_skill.md").read_bytes().decode()))


def assert_explained(root: Path, traced: Traced) -> None:
    """Every line has an origin; every origin has what I8 asks for."""
    text = traced.version.skill.text
    assert [line.text for line in traced.lines] == lines_of(text)
    assert text_of(traced.lines, like=text) == text
    initial = [line.rstrip() for line in lines_of((root / "skills/skill_v0000.md").read_bytes().decode())]
    history = {r.step: r for r in open_run(root).steps}
    for line in traced.lines:
        cause = traced.cause(line)
        assert cause.kind != "unrecorded", line
        assert (root / cause.place).exists()
        if cause.kind == "initial":
            assert line.text.rstrip() in initial
            continue
        assert cause.gate is not None, cause
        if line.text.strip() in ("", *MARKERS):
            continue
        if cause.kind in ("edit", "rewrite"):
            assert_drawn_from_rollouts(root, cause)
            assert cause.step is not None and cause.gate.action is history[cause.step].gate.action
            assert history[cause.step].gate.changed_current
        if cause.kind == "edit":
            applied = json.loads((root / cause.place / "edit_apply_report.json").read_text())
            row = next(r for r in applied if r["index"] == cause.edit["index"])
            assert row["status"].startswith("applied") and row["op"] == cause.edit["op"]
            assert any(c.strip() in line.text for c in cause.edit["content"].splitlines() if c.strip())
        gate = traced.proofs[cause.name].gate if cause.name in traced.proofs else cause.gate
        if gate.proven and cause.kind != "slow_update" and not gate.early_stopped:
            low, high = gate.interval
            assert low <= high and gate.evaluated_n == 12


def assert_drawn_from_rollouts(root: Path, cause: Any) -> None:
    assert cause.support
    for support in cause.support:
        assert (root / support.file).is_file() and support.item_ids
        assert {r.row.id for r in support.rollouts} == set(support.item_ids)
        for rollout in support.rollouts:
            assert (root / rollout.path / "conversation.json").is_file()


@pytest.mark.cases(2)
@pytest.mark.parametrize("mode", MODES)
def test_i8_every_line_of_the_best_skill_has_an_origin_and_its_evidence(runs, mode):
    root = runs[mode]
    provenance, traced = best_of(root)
    assert_explained(root, traced)
    kinds = {cause.kind for cause in provenance.lineage.causes.values()}
    wanted = {"suggestions": "rewrite", "documents": "rewrite", "everything": "slow_update"}.get(mode, "edit")
    assert wanted in kinds, kinds


@pytest.mark.parametrize("mode", MODES)
def test_every_accepted_text_and_every_candidate_is_explained(runs, mode):
    root = runs[mode]
    provenance = trace(open_run(root))
    for version in provenance.lineage.versions:
        assert_explained(root, provenance.of(version.skill))
    for record in json.loads((root / "history.json").read_text()):
        after = Skill((root / f"skills/skill_v{record['step']:04d}.md").read_bytes().decode())
        assert provenance.of(after).version.skill == after
        candidate = root / f"steps/step_{record['step']:04d}/candidate_skill.md"
        if candidate.exists():
            traced = provenance.of(Skill(candidate.read_bytes().decode()))
            assert all(traced.cause(line).kind != "unrecorded" for line in traced.lines)


def test_the_modes_exercise_what_they_are_for(runs):
    """Replaced, deleted and inserted lines, drafts and their proofs occur: otherwise the tests above prove little."""
    everywhere = [trace(open_run(runs[mode])).lineage for mode in MODES]
    ops = {c.edit.get("op") for lineage in everywhere for c in lineage.causes.values() if c.kind == "edit"}
    assert {"append", "insert_after", "replace", "delete"} <= ops
    assert any(line.earlier for lineage in everywhere for v in lineage.versions for line in v.lines)
    assert any(IDLE not in v.skill.text for lineage in everywhere for v in lineage.versions)
    assert trace(open_run(runs["paired"])).lineage.proofs
    kinds = {c.kind for c in trace(open_run(runs["everything"])).lineage.causes.values()}
    assert {"slow_update", "appendix_note", "meta_reflect"} <= kinds


def test_the_header_and_crlf_lines_stay_the_initial_skills(runs):
    _, traced = best_of(runs["strict"])
    by_text = {line.text: traced.cause(line).kind for line in traced.lines}
    assert by_text["name: boxes\r"] == "initial"
    assert by_text[f"{ANCHOR}\r"] == "initial"


@pytest.mark.thorough
def test_a_resumed_run_explains_itself_like_an_undisturbed_one(tmp_path):
    config = write_project(tmp_path, evaluation__gate_rule="paired")
    whole = run(config, tmp_path / "whole")
    run(config, tmp_path / "parts", budget__max_calls=60)
    parts = run(config, tmp_path / "parts")
    assert best_of(parts)[1].to_json() == best_of(whole)[1].to_json()
    assert_explained(parts, best_of(parts)[1])


def test_an_extended_run_is_explained_too(tmp_path):
    config = write_project(tmp_path)
    root = run(config, tmp_path / "run", train__num_epochs=1)
    before = best_of(root)[1]
    run(config, root, train__num_epochs=3)
    provenance, after = best_of(root)
    assert_explained(root, after)
    assert max(c.step or 0 for c in provenance.lineage.causes.values()) > 2
    assert provenance.of(before.version.skill).to_json() == before.to_json()


def test_a_copied_run_without_its_journal_explains_itself(runs, tmp_path):
    copy = shutil.copytree(runs["strict"], tmp_path / "elsewhere")
    for name in copy.glob("journal.sqlite*"):
        name.unlink()
    assert best_of(copy)[1].to_json() == best_of(runs["strict"])[1].to_json()


def test_foreign_bytes_are_refused_in_one_line(runs, tmp_path):
    provenance, traced = best_of(runs["strict"])
    with pytest.raises(RunDirError, match="no text of the run") as caught:
        provenance.of(Skill(traced.version.skill.text + "one more\n"))
    assert "\n" not in str(caught.value)
    with pytest.raises(RunDirError, match="not in a run directory"):
        open_run(tmp_path / "nowhere.md")


def test_damaged_views_are_named(runs, tmp_path):
    copy = shutil.copytree(runs["strict"], tmp_path / "copy")
    (copy / "history.json").write_text("[{")
    with pytest.raises(RunDirError, match=r"history\.json is damaged"):
        trace(open_run(copy))
    (copy / "history.json").write_text('[{"epoch": 1}]')
    with pytest.raises(RunDirError, match="record 1: step is missing"):
        trace(open_run(copy))


def test_views_of_another_program_are_explained_by_their_texts(runs, tmp_path):
    """Without the report of what was applied, lines still go to the step that brought them."""
    copy = shutil.copytree(runs["strict"], tmp_path / "copy")
    for name in copy.glob("steps/*/edit_apply_report.json"):
        name.unlink()
    assert steps_of(copy) == steps_of(runs["strict"])
    assert {None, 1} <= set(steps_of(copy))


def steps_of(root: Path) -> list[int | None]:
    _, traced = best_of(root)
    return [traced.cause(line).step for line in traced.lines if line.text.strip()]
