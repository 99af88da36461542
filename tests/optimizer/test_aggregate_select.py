"""Stages 3 and 4: reduction levels, fallbacks that lose nothing, ranking that cannot misread."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.edit import Edit, Patch
from skillopt.core.errors import ReplyError, TransientModelError
from skillopt.optimizer.aggregate import aggregate
from skillopt.optimizer.schemas.edits import read_ranking
from skillopt.optimizer.select import select

from .conftest import SKILL


def patch(name: str) -> Patch:
    return Patch((Edit("append", content=name),))


def merged(name: str) -> dict:
    return {"reasoning": "", "edits": [{"op": "append", "content": name, "support_count": 3, "source_type": "mixed"}]}


async def test_one_patch_needs_no_call(context):
    ctx, model = context(lambda request: merged("never"))
    only = patch("a")
    assert await aggregate([only], [], SKILL, ctx) is only
    assert await aggregate([], [only], SKILL, ctx) is only
    assert (await aggregate([], [], SKILL, ctx)).edits == ()
    assert model.asked == []


async def test_levels_and_final_call(context):
    ctx, model = context(lambda request: merged("m"), merge_batch_size=2)
    result = await aggregate([patch(str(n)) for n in range(5)], [patch("s")], SKILL, ctx)
    # 5 -> (2 merged chunks + 1 passed) 3 -> (1 merged + 1 passed) 2 -> 1 merged; then the final merge
    assert len(model.asked) == 2 + 1 + 1 + 1
    assert result.edits[0].merge_level is None, "the final call stamps no level"
    assert "group 1 takes priority" in model.texts("merge")[-1]
    assert all(text.count("Be brief.") == 1 for text in model.texts("merge"))


async def test_levels_are_stamped(context):
    ctx, _ = context(lambda request: merged("m"))
    result = await aggregate([patch("a"), patch("b")], [], SKILL, ctx)
    assert (result.edits[0].merge_level, result.edits[0].support_count) == (1, 3)


@pytest.mark.parametrize("answer", ["prose only", TransientModelError("503")])
async def test_unusable_merge_falls_back_to_concatenation_with_a_warning(context, answer):
    ctx, _ = context(lambda request: answer)
    result = await aggregate([patch("a"), patch("b")], [patch("c")], SKILL, ctx)
    assert [e.content for e in result.edits] == ["a", "b", "c"]
    assert "warning" in result.meta and ctx.tally.dropped == 2


async def test_select_asks_nothing_within_the_budget(context):
    ctx, model = context(lambda request: {"selected_indices": [0]})
    three = Patch(tuple(Edit("append", content=str(n)) for n in range(3)))
    assert (await select(three, SKILL, ctx, budget=3)).change == three
    assert (await select(three, SKILL, ctx, budget=None)).change == three
    assert (await select(three, SKILL, ctx, budget=0)).change.edits == ()
    assert model.asked == []


async def test_select_takes_valid_indices_in_returned_order(context):
    ctx, model = context(lambda request: {"reasoning": "", "selected_indices": ["2", 9, 2, True, -1, 0, 1]})
    three = Patch(tuple(Edit("append", content=str(n)) for n in range(3)))
    chosen = await select(three, SKILL, ctx, budget=2)
    assert chosen.indices == (2, 0) and [e.content for e in chosen.change.edits] == ["2", "0"] and not chosen.fallback
    assert "[2] append" in model.texts("ranking")[0]


@pytest.mark.parametrize("answer", [{"selected_indices": [7]}, "prose", TransientModelError("503")])
async def test_unusable_ranking_takes_the_first_and_says_so(context, answer):
    ctx, _ = context(lambda request: answer)
    three = Patch(tuple(Edit("append", content=str(n)) for n in range(3)))
    chosen = await select(three, SKILL, ctx, budget=2)
    assert chosen.indices == (0, 1) and chosen.fallback


@given(st.lists(st.one_of(st.integers(-3, 12), st.booleans(), st.none(), st.text(max_size=2))), st.integers(1, 8))
def test_ranking_never_yields_an_invalid_or_repeated_index(raw, budget):
    chosen = read_ranking({"selected_indices": raw}, count=6, budget=budget)
    assert len(chosen) == len(set(chosen)) <= budget and all(0 <= n < 6 for n in chosen)


def test_ranking_without_its_key_is_a_reply_error():
    with pytest.raises(ReplyError, match="selected_indices"):
        read_ranking({"chosen": [1]}, count=3, budget=1)
