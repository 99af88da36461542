"""Ablation on whole runs: worth as the toy's own rules say it is, free answers, pruning only when it is shown."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from skillopt.cli.main import invoke
from skillopt.core.hashing import text_digest
from skillopt.core.skill import Skill
from skillopt.explain.edit_worth import items_to_show, parts
from skillopt.explain.provenance import trace
from skillopt.gate.pvalue import paired_p
from skillopt.records.reading import open_run
from skillopt.testing import toy
from skillopt.testing.trees import tree
from tests.explain import toy_runs
from tests.explain.toy_runs import run, write_project

MANY = 110
"""Selection items: a rule for one kind in eight wins more than the eight that an interval above zero takes."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without a gate on many selection items: useful and harmful rules are in its skill."""
    root = tmp_path_factory.mktemp("large")
    sizes = {"train": 24, "val": MANY, "test": 12}
    changes = {"evaluation__use_gate": False, "train__seed": 5, "optimizer__use_slow_update": False}
    config = write_project(root, sizes=sizes, **changes)
    return run(config, root / "run")


@pytest.fixture(scope="module")
def ablated(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, its edits measured."""
    place = tmp_path_factory.mktemp("ablated")
    shutil.copytree(large.parent / "data", place / "data")
    root = Path(shutil.copytree(large, place / "run"))
    assert ablate(root)[0] == 0
    return root


def ablate(root: Path, *more: str) -> tuple[int, dict[str, Any]]:
    code = invoke(["ablate", str(root), "--yes", *more])
    return code, json.loads((root / "ablation/ablation.json").read_text())


def paid(root: Path) -> int:
    ledger = json.loads((root / "ablation/logs/ledger.json").read_text())
    return sum(row["calls"] for row in ledger["calls"])


def selection(root: Path) -> list[dict[str, str]]:
    return json.loads((root.parent / "data/val/items.json").read_text())


def right(skill: str, item: dict[str, str]) -> bool:
    """The toy's rules, written down again: an item is right by luck or by its rule, never against an AVOID."""
    kind = re.search(r"kind (\d+)", item["question"])[1]
    lucky = int(text_digest(item["question"])[:8], 16) % 5 == 0
    ruled = lucky or kind in re.findall(r"\bRULE (\d+)\b", skill)
    return ruled and kind not in re.findall(r"\bAVOID (\d+)\b", skill)


def test_each_edit_is_worth_the_items_that_only_it_makes_right(ablated):
    root = ablated
    result = json.loads((root / "ablation/ablation.json").read_text())
    assert len(result["edits"]) >= 4
    skill = Skill((root / "best_skill.md").read_bytes().decode())
    by_name = {p.cause.name: p for p in parts(trace(open_run(root)).of(skill))}
    verdicts = set()
    for row in result["edits"]:
        without = by_name[row["origin"]].without.text
        saved = (root / f"ablation/without/{row['origin'].replace('/', '-')}.md").read_bytes().decode()
        assert saved == without
        won = [i["id"] for i in selection(root) if right(skill.text, i) and not right(without, i)]
        lost = [i["id"] for i in selection(root) if right(without, i) and not right(skill.text, i)]
        assert (row["won"], row["lost"], row["n"]) == (won, lost, MANY)
        assert row["worth"] == pytest.approx((len(won) - len(lost)) / MANY)
        assert row["interval"][0] <= row["worth"] <= row["interval"][1]
        assert row["saved"]["chars"] == len(skill.text) - len(without)
        verdicts.add(row["verdict"])
    assert "not shown" in verdicts and verdicts & {"pays", "harms"}


def test_what_the_run_has_paid_for_is_free_and_the_run_stays_as_it_was(runs, tmp_path):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    before, journal = tree(root), (root / "journal.sqlite").read_bytes()
    toy_runs.ASKED.clear()
    _, result = ablate(root)
    asked = [q for q in toy_runs.ASKED if q.startswith("Box")]
    texts = {row["without_hash"] for row in result["edits"]}
    assert 0 < len(asked) == paid(root) <= 12 * len(texts)  # not one for the full skill
    after = {name: data for name, data in tree(root).items() if not name.startswith("ablation")}
    assert after == before and (root / "journal.sqlite").read_bytes() == journal
    toy_runs.ASKED.clear()
    assert ablate(root)[1] == result
    assert toy_runs.ASKED == []


def test_test_items_are_read_when_they_are_asked_for_and_it_says_so(runs, tmp_path, capsys):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    sealed = {i["question"] for i in json.loads((runs["strict"].parent / "data/test/items.json").read_text())}
    toy_runs.ASKED.clear()
    ablate(root)
    assert not sealed & set(toy_runs.ASKED)
    assert "sealed" not in capsys.readouterr().out
    _, result = ablate(root, "--split", "test")
    assert sealed <= set(toy_runs.ASKED) and result["split"] == "test"
    assert "reads the sealed test split" in capsys.readouterr().out


def test_pruning_takes_out_what_pays_nothing_or_harms_and_is_measured_as_a_whole(ablated, large, tmp_path):
    root = shutil.copytree(ablated, tmp_path / "run")
    code, result = ablate(root, "--prune", "--margin", "0.1")
    pruned = result["pruned"]
    assert code == 0 and pruned["accepted"], pruned
    text = (root / "ablation/pruned_skill.md").read_bytes().decode()
    assert Skill(text).hash == pruned["skill_hash"]
    assert pruned["left_out"] == [row["origin"] for row in result["edits"] if row["pays_nothing"]]
    full = (root / "best_skill.md").read_bytes().decode()
    items = selection(large)
    differences = [right(text, i) - right(full, i) for i in items]
    assert pruned["difference"]["worth"] == pytest.approx(sum(differences) / MANY)
    assert pruned["p_worse"] == pytest.approx(paired_p([float(d) for d in differences], margin=0.1))
    assert pruned["saved"]["chars"] == len(full) - len(text) > 0
    assert text.startswith("---\r\nname: boxes\r\n")
    origins = {line.origin for line in trace(open_run(root)).of(Skill(text)).lines}
    assert origins and not origins & set(pruned["left_out"])
    harmful = [row for row in result["edits"] if any("AVOID" in line for line in row["lines"])]
    assert all(row["origin"] in pruned["left_out"] for row in harmful if row["worth"] < 0)


def test_what_is_not_shown_is_not_written(runs, tmp_path, capsys):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    (root / "ablation").mkdir()
    _, result = ablate(root, "--prune")
    assert result["pruned"]["accepted"] is False
    assert not (root / "ablation/pruned_skill.md").exists()
    if result["pruned"]["left_out"]:
        assert f"{items_to_show(0.05)} items without a difference" in result["pruned"]["reason"]
    assert "nothing was written" in capsys.readouterr().out


def test_items_to_show_is_the_smallest_number():
    for margin in (0.05, 0.1, 0.3):
        n = items_to_show(margin)
        assert paired_p([0.0] * n, margin=margin) <= 0.05 < paired_p([0.0] * (n - 1), margin=margin)


def test_a_budget_ends_it_in_order_and_it_goes_on_where_it_was(runs, tmp_path):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    code, result = ablate(root, "budget.max_calls=15")
    assert code == 0 and result["stopped"].startswith("budget reached")
    assert [row["worth"] is None for row in result["edits"]].count(False) >= 1
    assert result["edits"][-1]["verdict"] == "not measured"
    toy_runs.ASKED.clear()
    code, whole = ablate(root)
    assert whole["stopped"] is None and None not in [row["worth"] for row in whole["edits"]]
    assert paid(root) <= 12 * len(whole["edits"])


def test_other_settings_or_data_are_refused_in_one_line(runs, tmp_path, capsys):
    root = runs["strict"]
    assert invoke(["ablate", str(root), "env.scorer.name=contains"]) == 2
    assert "made with other settings or data (env.scorer" in capsys.readouterr().err
    assert invoke(["ablate", str(root), "--split", "all"]) == 2
    assert invoke(["ablate", str(tmp_path)]) == 2
    assert not (root / "ablation").exists()


def test_json_goes_to_stdout_alone(runs, tmp_path, capsys):
    root = shutil.copytree(runs["strict"], tmp_path / "run")
    capsys.readouterr()
    assert invoke(["ablate", str(root), "--json", "--yes"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["split"] == "selection" and "Plan:" in out.err
    assert toy.KINDS == 8  # the rules above are the toy's of eight kinds
