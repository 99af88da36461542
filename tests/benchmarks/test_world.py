"""The simulated world: its truth is what it simulates, its draws are reproducible, its optimizer is as stated."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.ablations import interval, t_quantile
from benchmarks.gepa_like import Candidate, front, search
from benchmarks.world import BASE, NEVER, Params, World
from benchmarks.world_optimizer import proposals
from benchmarks.world_rules import reminder, veto, worded
from benchmarks.world_runs import refused, run
from skillopt.model.types import ChatRequest, Message

ROOT = Path(__file__).resolve().parents[2]
ERROR = 1e-9
"""Probability that a bound below is passed by chance, for another world seed; for these seeds it is settled."""


def bound(n: int) -> float:
    """Hoeffding: a mean of n independent values in [0, 1] lies this near to its expectation but with `ERROR`."""
    return math.sqrt(math.log(2 / ERROR) / (2 * n))


def skill(world: World, useful: int = 0, useless: int = 0, harmful: int = 0) -> frozenset[str]:
    rules = world.useful[:useful] + world.useless[:useless] + world.harmful[:harmful]
    return frozenset(rule.code for rule in rules)


@pytest.mark.cases(2)
@pytest.mark.parametrize("held", [(0, 0, 0), (8, 0, 0), (3, 5, 2), (8, 0, 6)])
@pytest.mark.parametrize("params", [Params(seed=3), Params(seed=4, noise=0.1, skew=0.7, harm=0.2)])
def test_truth_is_the_frequency_of_a_simulation(params: Params, held: tuple[int, int, int]) -> None:
    world = World(params)
    codes, items = skill(world, *held), range(10_000)
    drawn = sum(world.solved(n, codes, 0) for n in items) / len(items)
    assert abs(drawn - world.true_accuracy(codes)) < bound(len(items))


def test_truth_on_given_items_is_the_frequency_over_repeats() -> None:
    world = World(Params(seed=5))
    codes, items, repeats = skill(world, 4, 1, 1), range(40), 400
    drawn = sum(world.solved(n, codes, k) for n in items for k in range(repeats)) / (len(items) * repeats)
    assert abs(drawn - world.accuracy_on(items, codes)) < bound(len(items) * repeats)


def test_start_and_ceiling_are_those_that_were_asked_for() -> None:
    world = World(Params(start=0.41))
    assert world.true_accuracy(()) == pytest.approx(0.41)
    assert world.ceiling >= 0.93
    assert sum(world.params.shares) + world.params.base + world.params.never == pytest.approx(1)


def test_each_useful_rule_helps_each_harmful_one_hurts_and_useless_ones_change_nothing() -> None:
    world = World(Params(seed=2))
    before = skill(world, useful=2)
    for rule in world.useful[2:]:
        assert world.true_accuracy(before | {rule.code}) > world.true_accuracy(before) + 0.05
    for rule in world.harmful:
        assert world.true_accuracy(before | {rule.code}) < world.true_accuracy(before) - 0.03
    for rule in world.useless:
        assert world.true_accuracy(before | {rule.code}) == world.true_accuracy(before)


def test_a_useless_rule_draws_anew_on_the_volatile_items_only() -> None:
    world = World(Params(seed=2))
    changed = (
        sum(world.solved(n, frozenset(), 0) != world.solved(n, skill(world, 0, 1), 0) for n in range(5_000)) / 5_000
    )
    volatile = [world.probability(n, ()) for n in range(5_000)]
    expected = math.fsum(2 * p * (1 - p) for p in volatile) / len(volatile)
    assert 0.05 < expected < 0.2
    assert abs(changed - expected) < bound(5_000)


def test_repeats_are_independent_draws_and_equal_without_noise() -> None:
    noisy, quiet = World(Params(seed=6)), World(Params(seed=6, noise=0.0))
    first, second = ([noisy.solved(n, frozenset(), k) for n in range(2_000)] for k in (0, 1))
    flipped = sum(a != b for a, b in zip(first, second, strict=True)) / 2_000
    expected = math.fsum(2 * (p := noisy.probability(n, ())) * (1 - p) for n in range(2_000)) / 2_000
    assert abs(flipped - expected) < bound(2_000)
    assert all(quiet.solved(n, frozenset(), 0) == quiet.solved(n, frozenset(), 7) for n in range(2_000))


def test_judge_noise_turns_verdicts_and_leaves_the_truth() -> None:
    world = World(Params(seed=7, judge_noise=0.2))
    assert world.true_accuracy(()) == World(Params(seed=7)).true_accuracy(())
    seen = sum(world.solved(n, frozenset(), 0) for n in range(10_000)) / 10_000
    assert abs(seen - (0.41 * 0.8 + 0.59 * 0.2)) < bound(10_000)


def test_needs_have_the_stated_shares() -> None:
    world = World(Params(seed=8, skew=0.8))
    needs = Counter(map(world.need, range(20_000)))
    expected = {NEVER: world.params.never, BASE: world.params.base, **dict(enumerate(world.params.shares))}
    assert set(needs) == set(expected)
    assert all(abs(needs[need] / 20_000 - share) < bound(20_000) for need, share in expected.items())


def test_another_process_draws_the_same() -> None:
    program = (
        "from benchmarks.world import *; w = World(Params(seed=9)); held = ' '.join(r.code for r in w.useful[:3]);"
        "print([w.solved(n, w.codes_in(held), 1) for n in range(60)], w.useful[0].code)"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2")
    ]
    world = World(Params(seed=9))
    here = [world.solved(n, skill(world, 3), 1) for n in range(60)]
    assert printed[0] == printed[1] == f"{here} {world.useful[0].code}\n"


def test_rule_texts_do_not_tell_what_they_are_worth() -> None:
    world = World(Params(seed=1))
    texts = {
        kind: {worded(rule, random.Random(k), 3).replace(rule.code, "") for rule in rules for k in range(20)}
        for kind, rules in (("useful", world.useful), ("useless", world.useless), ("harmful", world.harmful))
    }
    assert texts["useful"] == texts["useless"] == texts["harmful"]
    assert len({len(rule.code) for rule in world.by_code.values()}) == 1
    assert len(world.by_code) == len(world.useful) + len(world.useless) + len(world.harmful)


def test_useful_proposals_answer_failures_that_were_shown_and_come_as_often_as_stated() -> None:
    world = World(Params(seed=1, most_edits=1))
    failed = [n for n in range(400) if world.need(n) >= 0][:8]
    shown, held = {world.need(n) for n in failed}, skill(world, 2)
    found = [rule for k in range(4_000) for rule in proposals(world, random.Random(k), failed, held, (), most=4)]
    assert not {rule.code for rule in found} & held
    assert {rule.number for rule in found if rule.kind == "useful"} <= shown
    share = Counter(rule.kind for rule in found)["useful"] / len(found)
    assert abs(share - world.params.p_useful) < bound(len(found))
    blind = [rule for k in range(200) for rule in proposals(world, random.Random(k), (), held, (), most=4)]
    assert "useful" not in {rule.kind for rule in blind}


def test_history_is_heeded_as_often_as_stated() -> None:
    deaf, heeding = (World(Params(seed=1, heed=h, most_edits=1)) for h in (0.0, 1.0))
    rejected = [rule.code for rule in deaf.harmful]

    def again(world: World) -> float:
        drawn = [proposals(world, random.Random(k), (), (), rejected, most=1) for k in range(2_000)]
        return sum(rule.kind == "harmful" for rules in drawn for rule in rules) / 2_000

    assert again(heeding) < again(deaf) - 0.1


def test_the_target_answers_by_the_skill_in_its_system_message_and_by_the_repeat() -> None:
    world = World(Params(seed=1))
    number = next(n for n in range(400) if world.need(n) == 0)

    def asked(system: str, repeat: int) -> str:
        messages = (Message("system", system), Message("user", world.item(number)["question"]))
        return world.target(ChatRequest(messages=messages, stage="rollout", repeat=repeat))

    right = f"<answer>{world.gold(number)}</answer>"
    with_rule = [asked(f"Use routine {world.useful[0].code}.", k) == right for k in range(300)]
    without = [asked("Be careful.", k) == right for k in range(300)]
    assert abs(sum(with_rule) / 300 - world.probability(number, [world.useful[0].code])) < bound(300)
    assert abs(sum(without) / 300 - world.probability(number, ())) < bound(300)


def test_a_line_may_take_a_rule_back_or_remind_of_it() -> None:
    world = World(Params(seed=1, noise=0.1))
    good, bad = world.useful[0], world.harmful[0]
    both = f"{worded(good, random.Random(0), 3)}\n{worded(bad, random.Random(0), 3)}"
    assert world.codes_in(both) == {good.code, bad.code}
    assert world.codes_in(f"{both}\n{veto(bad)}") == {good.code}
    reminded = world.codes_in(f"{worded(good, random.Random(0), 3)}\n- {reminder(good)}")
    assert reminded == {good.code, f"remembered {good.code}"}
    assert world.codes_in(reminder(good)) == frozenset()
    gain = world.true_accuracy(reminded) - world.true_accuracy({good.code})
    assert gain == pytest.approx(world.params.shares[0] * world.params.noise / 2)
    drawn = sum(world.solved(n, reminded, 0) for n in range(10_000)) / 10_000
    assert abs(drawn - world.true_accuracy(reminded)) < bound(10_000)


EVERYTHING = {
    "optimizer.use_slow_update": True,
    "optimizer.use_meta_skill": True,
    "optimizer.use_meta_reflect": True,
    "optimizer.use_skill_aware_reflection": True,
    "optimizer.skill_aware_consolidate_threshold": 2,
    "optimizer.lr_control_mode": "autonomous",
    "gradient.use_deep_reflect": True,
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_every_stage_gets_a_reply_it_can_read(mode: str) -> None:
    overrides = {"train.num_epochs": 3, "train.batch_size": 12, "optimizer.skill_update_mode": mode, **EVERYTHING}
    params = Params(seed=2, noise=0.1, p_useful=0.6, p_useless=0.2, p_harmful=0.2)
    ended = run(params, overrides, sizes={"train": 24, "val": 30, "test": 6})
    assert ended.steps == 6 and ended.accepted
    assert all(r["n_dropped_replies"] == 0 and r["n_reasks"] == 0 for r in ended.history)
    stages = {stage for r in ended.history for stage in r["tokens"]}
    assert {"analyst", "deep_probe", "deep_rollout"} <= stages


def test_a_run_is_reproducible_capped_and_reports_the_exact_truth() -> None:
    sizes, calls = {"train": 24, "val": 30, "test": 10}, 190
    overrides = {"train.num_epochs": 3, "train.batch_size": 12, "evaluation.gate_early_stop": False}
    one, two = (run(Params(seed=2), overrides, sizes=sizes, calls=calls) for _ in range(2))
    assert (one.skill, one.target_calls, one.optimizer_calls) == (two.skill, two.target_calls, two.optimizer_calls)
    assert one.summary["stopped"] and one.summary["test"]["hard"] is not None
    assert calls - 3 * sizes["test"] < one.target_calls <= calls
    world = World(Params(seed=2))
    assert one.true == world.true_accuracy(world.codes_in(one.skill))
    assert one.accepted and one.true != world.true_accuracy(())


def test_refused_configurations_are_named() -> None:
    assert not refused({"train.num_epochs": 2})
    assert "num_epoch" in refused({"train.num_epoch": 2})


def test_the_front_leaves_out_what_another_candidate_covers() -> None:
    pool = [
        Candidate(frozenset(), (True, False, False)),
        Candidate(frozenset("a"), (True, True, False)),
        Candidate(frozenset("b"), (False, False, True)),
    ]
    assert front(pool) == [0, 2, 1]


def test_the_peer_keeps_to_its_calls() -> None:
    world = World(Params(seed=1))
    found = search(world, range(60), range(60, 100), calls=600, seed=1)
    assert found.target_calls <= 600
    assert found.accepted and found.best.score >= sum(world.solved(n, frozenset(), 0) for n in range(60, 100)) / 40


def test_the_interval_of_the_ablations_is_students() -> None:
    assert t_quantile(0.975, 9) == pytest.approx(2.262, abs=1e-3)
    assert t_quantile(0.975, 1) == pytest.approx(12.706, abs=1e-2)
    low, high = interval([0.1, 0.2, 0.3])
    assert (low + high) / 2 == pytest.approx(0.2)
    assert (high - low) / 2 == pytest.approx(4.303 * 0.1 / math.sqrt(3), abs=1e-3)
