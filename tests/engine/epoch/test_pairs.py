"""Longitudinal pairs: categories, policies with their top-up, what is left out, how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config import load_config, parse_overrides
from skillopt.core.item import Item, safe_name
from skillopt.core.outcome import Missing, Scored
from skillopt.core.rollout import Rollout
from skillopt.engine.epoch.comparison import sample_order
from skillopt.envs.registry import settings_schemas
from skillopt.optimizer.epoch.pairs import CATEGORIES, Pair, counts, kept, pair, render_pairs
from skillopt.testing.trees import differences, tree
from tests.engine.epoch.stage import Ran, Say, append, guide, play

BASE = Path(__file__).parents[3] / "configs/_base_/default.yaml"


def rollout(name: str, hard: float | None, said: str = "") -> Rollout:
    outcome = Missing("503") if hard is None else Scored(hard, hard, fail_reason="" if hard else "exact: other")
    trajectory = ({"type": "message", "turn": 1, "content": said or f"said of {name}"},)
    return Rollout(Item(name, {"question": name}), "hash", outcome, trajectory=trajectory)


def pairs_of(*results: tuple[str, float | None, float | None], threshold: float = 1.0) -> tuple[list[Pair], int]:
    prev = [rollout(name, a) for name, a, _ in results]
    curr = [rollout(name, b) for name, _, b in results]
    return pair(prev, curr[::-1], threshold)


def test_pairs_by_id_with_their_category() -> None:
    pairs, left_out = pairs_of(("a", 0, 1), ("b", 1, 0), ("c", 0, 0), ("d", 1, 1), ("e", None, 1), ("f", 1, None))
    assert {p.item.id: p.category for p in pairs} == {
        "a": "improved", "b": "regressed", "c": "persistent_fail", "d": "stable_success",
    }  # fmt: skip
    assert left_out == 2
    assert counts(pairs) == dict.fromkeys(CATEGORIES, 1)
    row = pairs[1].to_json("the task of b")
    assert row["task"] == "the task of b"
    assert row["prev"] == {"hard": 1, "soft": 1, "predicted_answer": "", "fail_reason": ""}
    assert row["curr"]["fail_reason"] == "exact: other"


def test_the_threshold_is_the_environments() -> None:
    assert pairs_of(("a", 0.4, 0.6), threshold=0.5)[0][0].category == "improved"
    assert pairs_of(("a", 0.4, 0.6))[0][0].category == "persistent_fail"


@pytest.mark.parametrize(("policy", "names"), [("mixed", "abcd"), ("changed", "ab"), ("unchanged", "cd")])
def test_policies(policy: str, names: str) -> None:
    pairs, _ = pairs_of(("a", 0, 1), ("b", 1, 0), ("c", 0, 0), ("d", 1, 1))
    assert "".join(p.item.id for p in kept(pairs, policy)) == names


@pytest.mark.parametrize(
    ("policy", "aliases"),
    [
        ("mixed", "mixed default random all"),
        ("changed", "changed change delta 10_01 01_10"),
        ("unchanged", "unchanged stable same 00_11"),
    ],
)
def test_policy_aliases(policy: str, aliases: str, tmp_path: Path) -> None:
    schemas = settings_schemas()
    for alias in aliases.split():
        line = parse_overrides(["--env", "searchqa", f"optimizer.longitudinal_pair_policy={alias}"], schemas)
        by_flag = load_config(BASE, overrides=line, environ={}, env_schemas=schemas)
        (tmp_path / "c.yaml").write_text(f"optimizer:\n  longitudinal_pair_policy: {alias}\n")
        line = parse_overrides(["--env", "searchqa"], schemas)
        by_file = load_config(tmp_path / "c.yaml", overrides=line, environ={}, env_schemas=schemas)
        assert by_flag.config.optimizer.longitudinal_pair_policy == policy, alias
        assert by_file.config.optimizer.longitudinal_pair_policy == policy, alias


def test_shown_in_order_of_urgency_and_stable_ones_without_conversations() -> None:
    pairs, _ = pairs_of(("a", 1, 1), ("b", 0, 1), ("c", 0, 0), ("d", 1, 0))
    text = render_pairs(pairs, lambda item: f"task {item.id}", token_budget=10_000)
    places = [text.index(f"### Pair {n}: {c}") for n, c in enumerate(CATEGORIES, 1)]
    assert places == sorted(places)
    assert [text.count(f"said of {name}") for name in "abcd"] == [0, 2, 2, 2]
    assert all(f"task {name}" in text for name in "abcd")


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 9_000)), min_size=1, max_size=12),
    st.integers(0, 4_000),
)
def test_what_is_shown_fits_the_budget_or_says_that_it_was_cut(
    sizes: list[tuple[bool, bool, int]], budget: int
) -> None:
    prev = [rollout(f"p{n}", float(a), "x" * size) for n, (a, _, size) in enumerate(sizes)]
    curr = [rollout(f"p{n}", float(b), "y" * size) for n, (_, b, size) in enumerate(sizes)]
    pairs, _ = pair(prev, curr, 1.0)
    text = render_pairs(pairs, lambda item: "t", token_budget=budget)
    assert text.count("### Pair ") == len(pairs)
    if len(text) / 3.5 > budget + 1:
        assert "cut to about" in text
        assert len(text) < 1_200 * len(pairs) * 3 + 4 * budget * 3.5


RULE_ON = {"analyst": append("RULE 0"), "slow_update": guide("RULE 1")}


def ids(ran: Ran, name: str = "comparison_pairs") -> list[str]:
    return [row["id"] for row in ran.read(f"slow_update/epoch_02/{name}.json")]


async def test_changed_pairs_are_topped_up_in_the_order_of_the_shuffle(tmp_path: Path) -> None:
    """RULE 0 is accepted in epoch 2, so four of sixteen items change; three are wanted and two sampled at a time."""
    say_late = {**RULE_ON, "analyst": late("RULE 0")}
    ran = await play(
        tmp_path, say_late, sizes=(16, 8, 4), train__batch_size=8,
        optimizer__longitudinal_pair_policy="changed", optimizer__slow_update_samples=3,
    )  # fmt: skip
    order = [i.id for i in sample_order([Item(f"i{n}") for n in range(16)], seed=42, epoch=2)]
    changed = [i for i in order if int(i[1:]) % 4 == 0][:3]
    assert ids(ran) == changed
    result = ran.result("slow_update", 2)
    assert (result["n_pairs"], result["n_sampled"]) == (3, 3)
    asked = ids(ran, "comparison_pairs_all")
    assert asked == order[: len(asked)], "no item is skipped"
    assert len(asked) % 3 == 0 or len(asked) == 16
    assert result["n_topup"] == len(asked) - 3
    for side in ("prev", "curr"):
        folder = ran.root / f"slow_update/epoch_02/rollout_{side}"
        assert sorted(p.name for p in (folder / "topup").iterdir()) == sorted(map(safe_name, asked[3:]))
        one = json.loads((folder / "topup" / asked[3] / "results.jsonl").read_text())
        assert one["id"] == asked[3]
    prompt = ran.play.prompts("slow_update")[0]
    assert "persistent_fail" not in prompt.split("## The same tasks", 1)[1]


def late(*lines: str) -> Say:
    """An analyst that proposes only once the skill has its (empty) region, which is from the second epoch on."""
    proposing, empty = append(*lines), append()
    return lambda request: (proposing if "SLOW_UPDATE_START -->" in str(request.messages[1].content) else empty)(
        request
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("policy", ["mixed", "changed", "unchanged"])
async def test_pairs_do_not_depend_on_the_number_of_workers(tmp_path: Path, policy: str) -> None:
    trees: list[dict[str, bytes]] = []
    calls: list[int] = []
    for workers in (1, 7):
        ran = await play(
            tmp_path / str(workers), {**RULE_ON, "analyst": late("RULE 0")}, sizes=(16, 8, 4), env__workers=workers,
            optimizer__longitudinal_pair_policy=policy, optimizer__slow_update_samples=3,
        )  # fmt: skip
        trees.append({n: d for n, d in tree(ran.root).items() if n not in ("config.json", "config.yaml")})
        calls.append(len(ran.play.asked))
    assert differences(*trees) == []
    assert calls[0] == calls[1]


async def test_unchanged_pairs(tmp_path: Path) -> None:
    says = {**RULE_ON, "analyst": late("RULE 0")}
    ran = await play(tmp_path, says, optimizer__longitudinal_pair_policy="unchanged")
    kinds = {row["category"] for row in ran.read("slow_update/epoch_02/comparison_pairs.json")}
    assert kinds == {"persistent_fail"}
    assert len(ids(ran, "comparison_pairs_all")) == 8
    assert len(ids(ran)) == 6


async def test_without_a_pair_nothing_is_asked(tmp_path: Path) -> None:
    ran = await play(tmp_path, {"slow_update": guide("RULE 1")}, optimizer__longitudinal_pair_policy="changed")
    result = ran.result("slow_update", 2)
    assert (result["action"], result["n_pairs"], result["n_topup"]) == ("no_content", 0, 0)
    assert result["reason"] == "no pair of attempts could be compared"
    assert not ran.play.stages("slow_update")


async def test_a_pair_with_a_missing_side_is_left_out_and_counted(tmp_path: Path) -> None:
    def broken(skill: str, task: str) -> bool:
        return "RULE 0" in skill and "n3x" in task

    says = {**RULE_ON, "analyst": late("RULE 0")}
    ran = await play(tmp_path, says, broken=broken)
    result = ran.result("slow_update", 2)
    assert (result["n_pairs"], result["n_pairs_left_out"], result["curr_n"]) == (7, 1, 7)
    assert "i3" not in ids(ran)
    row = next(r for r in _rows(ran, "rollout_curr") if r["id"] == "i3")
    assert row["status"] == "missing"


def _rows(ran: Ran, folder: str) -> list[dict[str, object]]:
    path = ran.root / "slow_update/epoch_02" / folder / "results.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_both_skills_are_rolled_out_side_by_side(tmp_path: Path) -> None:
    """The first request of the current skill goes out before the last one of the previous skill."""
    first, second = append("RULE 0"), append("RULE 1")
    analyst: Say = lambda r: (second if "SLOW_UPDATE_START -->" in str(r.messages[1].content) else first)(r)  # noqa: E731
    ran = await play(
        tmp_path, {"analyst": analyst}, sizes=(16, 8, 4), train__batch_size=8, env__workers=2,
        gradient__failure_only=True,
    )  # fmt: skip
    asked = ["RULE 1" in str(r.messages[0].content) for r in ran.play.stages("longitudinal")]
    assert 0 < len(asked) < 32, "what a skill was asked in its epoch is not asked again"
    assert asked.index(True) < len(asked) - 1 - asked[::-1].index(False)
