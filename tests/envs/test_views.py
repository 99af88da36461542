"""The rollout directory: rows with status, opaque ids, equal bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from skillopt.core.item import Item, safe_name
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.views import rollout_row, write_rollout_dir

ODD_IDS = ["group/item#7", "..", "a:b", "ünï", "CON.", "x" * 300, "id_map.json", "ID_MAP.json", "plain-1", "a/b", "a_b"]


def rollout(item_id: str, *, missing: bool = False) -> Rollout:
    outcome = Missing("429 slow down") if missing else Scored(0.0, 0.5, "wrong", "p", {"sub_em": 1.0})
    return Rollout(
        item=Item(item_id, {"question": "Why?"}, "kind"),
        skill_hash="abc",
        outcome=outcome,
        trajectory=()
        if missing
        else ({"type": "message", "turn": 1, "content": "p"}, {"role": "system", "content": "e"}),
        tokens={"calls": 1},
        system_prompt="system",
        user_prompt="user",
    )


def test_rows() -> None:
    row = rollout_row(rollout("a"))
    assert (row["id"], row["status"], row["hard"], row["soft"], row["n_turns"]) == ("a", "scored", 0.0, 0.5, 1)
    assert (row["fail_reason"], row["predicted_answer"], row["task_type"]) == ("wrong", "p", "kind")
    assert row["task_description"] == row["question"] == "Why?"
    named_otherwise = replace(rollout("a"), item=Item("a", {"Anfrage": "Warum?"}))
    row = rollout_row(named_otherwise)
    assert row["task_description"] == "user" and "question" not in row, "items have fields of any name"
    row = rollout_row(rollout("a", missing=True), "shown task")
    assert (row["status"], row["error"], row["task_description"]) == ("missing", "429 slow down", "shown task")
    assert "hard" not in row and "soft" not in row


def test_directory_maps_every_id_and_is_deterministic(tmp_path: Path) -> None:
    rollouts = [rollout(i, missing=i == "a:b") for i in ODD_IDS]
    trees: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        write_rollout_dir(tmp_path / name, rollouts, task_text=lambda item: item.id)
        files = (p for p in (tmp_path / name).rglob("*") if p.is_file())
        trees.append({str(p.relative_to(tmp_path / name)): p.read_bytes() for p in files})
    assert trees[0] == trees[1]
    assert len(trees[0]) == 3 * len(ODD_IDS) + 2
    rows = [json.loads(line) for line in trees[0]["results.jsonl"].decode().splitlines()]
    assert [row["id"] for row in rows] == ODD_IDS
    names = json.loads(trees[0]["predictions/id_map.json"])
    assert sorted(names.values()) == sorted(ODD_IDS) and all(safe_name(i) == n for n, i in names.items())
    folder = tmp_path / "one" / "predictions" / safe_name("group/item#7")
    assert json.loads((folder / "conversation.json").read_text())[0]["content"] == "p"
    assert (folder / "target_system_prompt.txt").read_text() == "system"
    assert (folder / "target_user_prompt.txt").read_text() == "user"


def test_lone_surrogates_do_not_break_a_row(tmp_path: Path) -> None:
    write_rollout_dir(tmp_path, [rollout("bad\ud800id")])
    assert json.loads((tmp_path / "results.jsonl").read_text(encoding="utf-8"))["id"] == "bad\ud800id"
