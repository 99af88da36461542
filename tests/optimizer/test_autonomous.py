"""The autonomous budget: what is asked, how leniently it is read, and that no answer is not a zero."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.errors import BudgetExceeded, TransientModelError
from skillopt.model.types import ChatReply
from skillopt.optimizer.autonomous import BatchScore, decide, read_count

from .conftest import SKILL

THREE = Patch(tuple(Edit("append", content=f"rule {n}") for n in range(3)))
BATCH = BatchScore(n=40, hard=0.625, soft=0.75)


async def ask(context, answer, *changes, scheduled=2, **settings):
    ctx, model = context(lambda request: answer, **settings)
    decision = await decide(
        changes or (THREE,), SKILL, ctx, batch=BATCH, buffer_text="TRIED BEFORE", scheduled=scheduled
    )
    return decision, model, ctx


async def test_the_call_sees_the_evidence_and_no_default(context):
    answer = {"reasoning": "r", "learning_rate": 2, "confidence": "high", "risk_notes": ["overlap"]}
    decision, model, ctx = await ask(context, answer, learning_rate=777, scheduled=888)
    text = model.texts("lr_autonomous")[0]
    for piece in ("Be brief.", "40 attempts", "0.6250", "0.7500", "[2] append", "TRIED BEFORE"):
        assert piece in text
    assert "777" not in text and "888" not in text and "At most" not in text
    assert decision.to_json(step=3, epoch=2) == {
        "step": 3, "epoch": 2, "learning_rate": 2, "raw_learning_rate": 2, "available_update_items": 3,
        "clamped": False, "fallback": False, "fallback_reason": "", "reasoning": "r", "confidence": "high",
        "risk_notes": ["overlap"], "raw_response": decision.raw_response,
    }  # fmt: skip
    assert decision.raw_response.startswith("{") and ctx.tally.stages["lr_autonomous"]["calls"] == 1
    assert model.asked[0].max_completion_tokens == 16_384


async def test_the_meta_skill_is_shown(context):
    ctx, model = context(lambda request: {"learning_rate": 1})
    ctx = replace(ctx, meta_skill="OPTIMIZER MEMORY")
    await decide((THREE,), SKILL, ctx, batch=BATCH, buffer_text="", scheduled=2)
    assert "OPTIMIZER MEMORY" in model.texts("lr_autonomous")[0]
    assert "Earlier steps" not in model.texts("lr_autonomous")[0]


async def test_too_many_is_clamped_and_zero_is_a_decision(context):
    decision, _, _ = await ask(context, {"learning_rate": "about 12 of them"})
    row = decision.to_json(step=1, epoch=1)
    assert (row["learning_rate"], row["raw_learning_rate"], row["clamped"]) == (3, "about 12 of them", True)
    decision, _, _ = await ask(context, {"learning_rate": 0})
    row = decision.to_json(step=1, epoch=1)
    assert (row["learning_rate"], row["clamped"], row["fallback"]) == (0, False, False)


async def test_several_proposals_are_listed_and_the_largest_counts(context):
    one = Patch((Edit("append", content="alone"),))
    decision, model, _ = await ask(context, {"learning_rate": 9}, one, Patch(), THREE)
    assert decision.learning_rate == decision.available == 3
    text = model.texts("lr_autonomous")[0]
    assert "2 independent proposals" in text and "alone" in text and "rule 2" in text


@pytest.mark.parametrize(
    ("answer", "asked"),
    [({"learning_rate": True}, 2), ({"learning_rate": None}, 2), ({"learning_rate": 1.5}, 2), ("prose", 2), ([], 2),
     ({"learning_rate": -1}, 2), ({}, 2), (TransientModelError("503"), 1),
     (ChatReply('{"learning_rate": 1}', finish="length"), 1)],
)  # fmt: skip
async def test_no_usable_answer_is_the_schedule_and_never_a_zero(context, answer, asked):
    decision, model, ctx = await ask(context, answer)
    row = decision.to_json(step=1, epoch=1)
    assert (row["learning_rate"], row["fallback"], row["raw_learning_rate"]) == (2, True, None)
    assert row["fallback_reason"] and len(model.asked) == asked and ctx.tally.dropped == 1


async def test_a_second_answer_may_be_right(context):
    answers = iter(["prose", {"learning_rate": 1}])
    ctx, _ = context(lambda request: next(answers))
    decision = await decide((THREE,), SKILL, ctx, batch=BATCH, buffer_text="", scheduled=2)
    assert (decision.learning_rate, ctx.tally.reasks) == (1, 1)
    assert ctx.tally.stages["lr_autonomous"]["calls"] == 2


async def test_what_stops_the_run_stops_it_here(context):
    with pytest.raises(BudgetExceeded):
        await ask(context, BudgetExceeded("calls", 2, 1, "budget.max_calls"))


@pytest.mark.parametrize(
    ("given", "read"),
    [(0, 0), (3, 3), (3.0, 3), ("3", 3), (" use 4, maybe 5 ", 4), ("top-3", 3), ("2.7", 2), ("９", None),
     (-1, None), ("-2", None), (2.5, None), (True, None), (False, None), (None, None), ("many", None), ([2], None),
     (float("inf"), None), (float("nan"), None), ("9" * 5000, int("9" * 18))],
)  # fmt: skip
def test_lenient_reading(given, read):
    assert read_count(given) == read


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_reading_never_raises_and_never_goes_below_zero(given):
    read = read_count(given)
    assert read is None or (isinstance(read, int) and not isinstance(read, bool) and read >= 0)


@given(st.integers(0, 10**9), st.text(alphabet="abc xyz,;:"), st.text(alphabet="abc xyz,;:"))
def test_the_first_integer_of_a_text(number, before, after):
    assert read_count(f"{before} {number} {after}") == number
