"""Views to understand a run by, on recorded runs: tree, arithmetic, flips, pages of the matrix, noise, cost, growth."""

from __future__ import annotations

import shutil

import pytest

from skillopt.records.reading import open_run
from skillopt.records.vocabulary import Action
from skillopt.views.answers.flips import contests, side_by_side
from skillopt.views.answers.grid import Window, grid, split_columns
from skillopt.views.answers.matrix import Cell
from skillopt.views.answers.scores import Scores
from skillopt.views.answers.trajectory import trajectory
from skillopt.views.costs import costs
from skillopt.views.drawn import drawings
from skillopt.views.effects import effects
from skillopt.views.growth import blamed, version_diff, versions
from skillopt.views.noise import noise_floor
from skillopt.views.tree import tree
from tests.records.recorded import NOW, every_run

RUNS = pytest.mark.parametrize("root", every_run(), ids=lambda p: f"{p.parent.name}-{p.name}")


@RUNS
def test_the_tree_holds_every_step_and_leads_from_the_best_text_to_the_initial_one(root):
    run, nodes = open_run(root), tree(open_run(root))
    assert [n.step for n in nodes if n.label.startswith("step ")] == [record.step for record in run.steps]
    best = [n for n in nodes if n.best]
    assert len(best) == 1 and best[0].path and (best[0].place == 0) == (run.best == run.initial)
    for node in nodes[1:]:
        assert node.parent < node.place and nodes[node.parent].current
        assert node.evidence == "" or (root / node.evidence / "results.jsonl").is_file()
    place = best[0].place
    while place:
        assert nodes[place].path
        place = nodes[place].parent
    assert str(drawings.lineage(nodes)).count("<circle") == len(nodes)


@RUNS
def test_the_arithmetic_agrees_with_itself(root):
    """What a gate won and lost is what its score differs by, wherever all items were asked once."""
    for node in tree(open_run(root)):
        said = " ".join(node.why)
        if node.score is None or " against " not in said:
            continue
        before = float(said.split(" against ")[1][:5])
        asked, _, total = said.split("Asked on ")[1].split()[:3]
        if asked != total:  # accepted early: the rest was asked for the score alone
            continue
        assert node.score - before == pytest.approx((node.won - node.lost) / int(asked), abs=0.001)


@RUNS
def test_flips_are_won_and_lost_by_both_attempts(root):
    run = open_run(root)
    for contest in contests(run):
        for flip in contest.flips:
            seen = side_by_side(run, contest.key, flip.item)
            won = seen.after.score > seen.before.score
            assert won == (flip.verdict == "won") and seen.before.row.skill_hash != seen.after.row.skill_hash


def test_a_refused_draft_leads_back_to_the_text_that_was_proven():
    nodes = {n.label: n for n in tree(open_run(NOW / "paired"))}
    assert nodes["step 4"].fate == "draft" and nodes["step 5"].parent == nodes["step 4"].place
    assert nodes["last look at the draft"].against == nodes["step 2"].place
    assert "p = 0.0039 ≤ 0.0750" in " ".join(nodes["step 2"].why)


def test_conversations_are_shown_in_order_with_what_the_scorer_found():
    run = open_run(NOW / "force_accept")
    seen = trajectory(run, "test_eval", "box-31")
    assert [part.kind for part in seen.parts] == ["system", "user", "assistant", "scorer"]
    assert seen.parts[2].text == "<answer>unknown</answer>" and "expected 'damson'" in seen.parts[3].text
    assert trajectory(open_run(NOW / "strict"), "test_eval", "box-31").notice


@RUNS
def test_pages_of_the_matrix_put_together_are_the_records(root):
    run, scores = open_run(root), Scores()
    for split, columns in split_columns(run).items():
        whole = grid(run, scores, split, Window(columns=1000, rows=1000))
        assert whole.columns_total == len(columns) == len(whole.columns)
        rows: dict[str, list[Cell]] = {}
        for at in range(0, whole.columns_total, 3):
            for row in range(0, whole.rows_total, 5):
                for each in grid(run, scores, split, Window(at, row, 3, 5)).rows:
                    rows.setdefault(each.id, []).extend(each.cells)
        assert {row.id: list(row.cells) for row in whole.rows} == rows
        for column, place in zip(zip(*(r.cells for r in whole.rows), strict=True), columns, strict=True):
            assert sum(cell.asked for cell in column) == len(run.rollouts(place.directory))


def test_a_changed_file_is_read_again_and_old_ones_are_let_go(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    run, scores = open_run(root), Scores(most=2)
    before = scores.of(run, "selection_eval_baseline")
    path = root / "selection_eval_baseline/results.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert len(scores.of(run, "selection_eval_baseline")) == len(before) - 1
    for step in (1, 2, 3):
        scores.of(run, f"steps/step_{step:04d}/selection_eval")
    assert len(scores._kept) == 2 and scores.of(run, "nowhere") == {}


@RUNS
def test_versions_grow_to_the_best_one_and_every_line_has_a_cause(root):
    run = open_run(root)
    rows = versions(run)
    assert rows[0].key == "0" and any(row.best for row in rows)
    for row in rows:
        text = blamed(run, row.key)
        assert text.hash == row.hash and len(text.lines) == row.lines and not text.notice
        assert all(line.label for line in text.lines)
    assert version_diff(run, "0", "best").same == (run.best == run.initial)
    assert "<rect" in str(drawings.growth(rows))


@RUNS
def test_the_noise_floor_says_which_gains_are_beyond_luck(root):
    floor = noise_floor(open_run(root))
    if floor is None:
        return
    assert sum(chance for _, chance in floor.shares) == pytest.approx(1, abs=1e-6)
    inside = sum(chance for gain, chance in floor.shares if floor.low <= gain <= floor.high)
    assert inside >= 0.95 and floor.how.startswith("assumed")
    for gain in floor.gains:
        assert gain.beyond == (not floor.low <= gain.delta <= floor.high)
    assert str(drawings.noise(floor)).count("<circle") == len(floor.gains)


def test_noise_is_measured_where_a_self_test_lies_there(tmp_path):
    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    (root / "selftest.json").write_text('{"n": 12, "noise": 0.25}')
    floor = noise_floor(open_run(root))
    assert floor.noise == 0.25 and floor.measured_on == 12 and "self-test" in floor.how


@RUNS
def test_costs_are_those_of_the_bill(root):
    run = open_run(root)
    found = costs(run)
    assert found.whole == bool(run.ledger.calls)
    if found.whole:
        assert found.calls == sum(row.calls for row in run.ledger.calls)
        assert sum(row.share for row in found.rows) == pytest.approx(1)
    else:
        assert found.calls == sum(c.calls for r in (*run.steps, *run.epoch_results) for c in r.tokens.values())


def test_effects_of_an_ablation_are_bars(tmp_path):
    from skillopt.records.beside.ablation import AblationRecord, EditWorth, WorthRecord
    from skillopt.store.atomic import write_json

    root = tmp_path / "run"
    shutil.copytree(NOW / "strict", root)
    assert effects(open_run(root)) is None
    worth = WorthRecord(worth=0.25, interval=(0.05, 0.4), n=12, total=12, verdict="pays")
    edits = (EditWorth(origin="a", label="step 2, edit 1", effect=worth), EditWorth(origin="b", label="step 3, edit 1"))
    (root / "ablation").mkdir()
    write_json(root / "ablation/ablation.json", AblationRecord(edits=edits).to_json())
    found = effects(open_run(root))
    assert [(bar.label, bar.points, bar.interval) for bar in found.bars] == [("step 2, edit 1", 25.0, (5.0, 40.0))]
    assert found.unmeasured == ("step 3, edit 1",) and "+25.0 points" in str(drawings.effect_bars(found.bars))


def test_actions_without_a_candidate_are_no_texts():
    for node in tree(open_run(NOW / "epochs")):
        assert node.current == (node.fate in ("initial", "proven", "kept", "draft"))
        assert not (node.words == Action.SKIP_NO_PATCHES.words and node.current)
