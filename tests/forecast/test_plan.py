"""Call counts against the published recipe, ranges, budgets, what a split can show."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config import load_config, parse_overrides
from skillopt.config.derived import Sizes
from skillopt.core.errors import ConfigError
from skillopt.core.item import Item
from skillopt.core.skill import Skill
from skillopt.envs.base import Splits
from skillopt.envs.registry import create_env, settings_schemas
from skillopt.forecast.estimate import PerCall
from skillopt.forecast.plan import make_plan
from skillopt.forecast.range import Range, spread, total
from skillopt.forecast.workload import merges, most_merges, workload
from skillopt.model.prices import load_prices
from skillopt.records.vocabulary import Stage

BASE = Path(__file__).parents[2] / "configs/_base_/default.yaml"


def config(*overrides: str):
    schemas = settings_schemas()
    more = ["env.name=jsonl", "env.prompt_template={{ question }}", *overrides]
    return load_config(BASE, overrides=parse_overrides(more, schemas), environ={}, env_schemas=schemas).config


def plan(*overrides: str, sizes: tuple[int, int, int] = (40, 40, 40), observed=None):
    c = config(*overrides)
    env = create_env("jsonl", c.env, c.env_settings)
    names = ("train", "selection", "test")
    items = {n: tuple(Item(f"{n}{k}", {"question": "how?", "answer": "so"}) for k in range(s))
             for n, s in zip(names, sizes, strict=True)}  # fmt: skip
    return make_plan(c, env, Splits(**items), Skill("be brief"), load_prices(), observed=observed)


def test_the_default_searchqa_recipe():
    work = workload(config("evaluation.prefetch=false"), Sizes(400, 200, 1400))
    assert work.total_steps == 40
    assert [work.of(s).high for s in (Stage.ROLLOUT, Stage.BASELINE, Stage.GATE)] == [1600, 200, 8000]
    assert work.of(Stage.GATE).low == 1600
    assert work.of(Stage.GATE, Stage.FINAL_SELECTION).high == 200
    assert work.of(Stage.TEST).high == 4200
    assert work.of(Stage.ANALYST) == Range(200, 240)


def test_work_done_ahead_widens_what_it_may_waste():
    still = workload(config("evaluation.prefetch=false"), Sizes(400, 200, 1400))
    ahead = workload(config(), Sizes(400, 200, 1400))
    assert ahead.of(Stage.ROLLOUT) == Range(1600, 1600 + 39 * 40)
    assert ahead.of(Stage.ANALYST) == Range(still.of(Stage.ANALYST).low, 240 * 2 - 240 // 40)
    assert ahead.of(Stage.GATE) == still.of(Stage.GATE)


def test_no_early_stop_means_the_whole_gate():
    gate = workload(config("evaluation.gate_early_stop=false"), Sizes(40, 40, 1)).of(Stage.GATE)
    assert gate.low == gate.high > 0


@pytest.mark.parametrize(
    ("patches", "chunk", "calls"), [(0, 8, 0), (1, 8, 0), (2, 8, 1), (9, 8, 2), (16, 8, 3), (3, 2, 2)]
)
def test_merge_calls(patches, chunk, calls):
    assert merges(patches, chunk) == calls


@given(st.integers(0, 60), st.integers(2, 9))
def test_merging_ends_and_the_bound_holds(patches, chunk):
    assert merges(patches, chunk) <= most_merges(patches, chunk) <= max(0, patches)


@given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 3), st.integers(1, 4))
def test_ranges_are_ranges(train, batch, accumulation, proposals):
    c = config(f"train.batch_size={batch}", f"train.accumulation={accumulation}", f"optimizer.proposals={proposals}")
    for stage in workload(c, Sizes(train, 20, 20)).stages:
        assert 0 <= stage.calls.low <= stage.calls.high


_BOUNDS = st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(_BOUNDS, max_size=6), st.floats(0, 100))
def test_what_is_likely_lies_between_the_bounds_whatever_is_made_of_ranges(bounds, factor):
    parts = [make(low, high) for (low, high) in bounds for make in (Range, spread)]
    for made in (total(parts), total(p * q for p, q in pairwise(parts)), total(parts).times(factor)):
        assert made.low * (1 - 1e-9) <= made.likely <= made.high * (1 + 1e-9)


def test_the_likely_value_is_what_runs_take_not_the_middle_of_everything():
    """Counts in the middle, sizes of calls as many times above the least as below the most."""
    made = plan("--backend", "openai_compatible", "model.target=gpt-4.1-mini", "model.optimizer=gpt-4.1-mini")
    assert made.calls.likely == (made.calls.low + made.calls.high) / 2
    answers = next(s for s in made.stages if s.stage == "baseline")
    assert answers.completion_tokens.likely == pytest.approx(40 * (10 * 400) ** 0.5)
    assert made.tokens.low < made.tokens.likely < made.tokens.high / 2
    seen = {("target", "rollout"): PerCall(1000, 10, 2.0)}
    rollout = next(s for s in plan(observed=seen).stages if s.stage == "rollout")
    assert rollout.prompt_tokens.likely == 1000 * rollout.calls.likely


def test_unknown_prices_make_the_money_unknown_and_free_models_make_it_zero():
    assert plan("--backend", "scripted").usd.high == 0
    assert plan("--backend", "openai_compatible", "model.target=my-own").usd is None


def test_small_splits_are_warned_about_with_numbers_and_one_item_is_refused():
    assert plan(sizes=(40, 40, 40)).warnings == ()
    assert "168 show 10" in plan(sizes=(40, 12, 40)).warnings[0]
    assert plan(sizes=(40, 1, 40)).refusals


def test_a_budget_says_how_many_steps_it_pays_for():
    small = plan("budget.max_calls=10")
    assert small.fits_steps.high == 0 and "first of 4 steps" in small.refusals[0]
    middle = plan("budget.max_calls=300")
    assert "of 4 steps" in middle.warnings[0] and not middle.refusals
    assert plan("budget.max_calls=100000").warnings == ()


def test_what_was_observed_replaces_the_guess():
    seen = {("target", "rollout"): PerCall(1000, 10, 2.0), ("optimizer", "analyst"): PerCall(5000, 100, 9.0)}
    rollout = next(s for s in plan(observed=seen).stages if s.stage == "rollout")
    assert rollout.observed and rollout.prompt_tokens.low == 0.8 * 1000 * rollout.calls.low


def test_both_prices_are_shown_whichever_is_in_force():
    roles = ("model.backend=openai_compatible", "model.target=gpt-4o-mini", "model.optimizer=gpt-4o-mini")
    live, sets, every = (plan(*roles, f"model.batch={mode}").batches for mode in ("never", "sets", "all"))
    assert live is not None and sets is not None and every is not None
    assert (live.used, sets.used, every.used) == (False, True, True)
    assert live.live == sets.live == every.live
    assert live.batched == sets.batched
    assert live.live.high / 2 < sets.batched.high < live.live.high, "merges, gates and rewrites are asked live"
    assert every.batched.high < sets.batched.high, "a whole gate at half the price"
    assert every.waits > sets.waits > 2


def test_the_money_of_the_plan_is_that_of_the_mode_in_force():
    roles = ("model.backend=openai_compatible", "model.target=gpt-4o-mini", "model.optimizer=gpt-4o-mini")
    live, sets = plan(*roles), plan(*roles, "model.batch=sets")
    assert sets.batches is not None and live.batches is not None
    assert sets.usd == sets.batches.batched and live.usd == live.batches.live
    assert sets.seconds.high > 86_400, "a day for each set at most"


def test_what_has_no_batch_price_offers_none():
    assert plan("model.backend=scripted").batches is None
    assert plan("model.backend=claude_chat", "model.batch=sets").warnings[-1].startswith("the optimizer is asked call")


def test_a_role_of_its_own_that_cannot_is_refused():
    with pytest.raises(ConfigError, match=r"model\.target_batch=sets: no batch API for the target: scripted has none"):
        plan("model.backend=scripted", "model.target_batch=sets")
    roles = ("model.backend=openai_compatible", "model.target_batch=all")
    with pytest.raises(ConfigError, match="several turns"):
        plan(*roles, "env.max_turns=3")


def test_the_plan_knows_the_endpoints_of_a_role():
    three = (
        "[{url: http://a:1/v1, weight: 2, width: 4}, {url: http://b:1/v1, width: 2}, {url: http://c:1/v1, width: 2}]"
    )
    one = plan("model.backend=openai_compatible", "env.workers=32")
    pool = plan("model.backend=openai_compatible", "env.workers=32", f"model.target_endpoints={three}")
    assert pool.pools == (
        "the target has 3 endpoints: a:1 (50 %, 4 at once), b:1 (25 %, 2 at once), c:1 (25 %, 2 at once)",
    )

    def seconds(of):
        return next(s.seconds.high for s in of.stages if s.stage is Stage.ROLLOUT)

    assert seconds(pool) == pytest.approx(4 * seconds(one)), "8 in flight in place of 32"
    few = plan("model.backend=openai_compatible", "env.workers=6", f"model.target_endpoints={three}")
    assert "env.workers=6 keeps fewer in flight than their 8" in few.pools[0]


def test_endpoints_of_a_backend_without_addresses_are_refused():
    with pytest.raises(ConfigError, match="scripted asks no address"):
        plan("model.backend=scripted", "model.target_endpoints=[{url: http://a:1/v1}]")
    with pytest.raises(ConfigError, match="listed twice"):
        plan("model.backend=openai_compatible", "model.target_endpoints=[{url: http://a:1/v1}, {url: http://a:1/v1/}]")
