"""Stage 2: partition and order, what reaches the analyst, what becomes of bad replies and lost calls."""

from __future__ import annotations

import pytest

from skillopt.core.errors import FatalModelError, StopRun, TransientModelError
from skillopt.model.types import ChatReply
from skillopt.optimizer.reflect import groups_of, partition, reflect

from .conftest import SKILL, ToyEnv, rollout

EDIT = {"op": "append", "content": "When asked, answer."}


def reply(*edits: dict, **extra: object) -> dict:
    return {"batch_size": 1, "patch": {"reasoning": "because", "edits": list(edits)}, **extra}


def mixed(failed: int, passed: int) -> list:
    return [rollout(f"f{n}", 0.0, "wrong: x") for n in range(failed)] + [rollout(f"s{n}", 1.0) for n in range(passed)]


def test_golden_order_of_groups():
    assert groups_of([f"f{n}" for n in range(5)], 8, 1043) == [["f0", "f3", "f1", "f2", "f4"]]
    assert groups_of([f"s{n}" for n in range(5)], 8, 1044) == [["s0", "s3", "s4", "s2", "s1"]]
    assert [len(g) for g in groups_of(list(range(10)), 4, 1)] == [4, 4, 2]


def test_missing_outcomes_are_in_neither_group():
    failures, successes = partition([rollout("a", 0.0), rollout("b", None), rollout("c", 1.0), rollout("d", 0.3)], 1.0)
    assert ([r.item.id for r in failures], [r.item.id for r in successes]) == (["a", "d"], ["c"])


async def test_one_call_a_group_with_skill_once_and_tasks_fenced(context):
    ctx, model = context(lambda request: reply(EDIT), minibatch_size=4)
    found = await reflect(mixed(5, 3), SKILL, ToyEnv(), ctx, batch_seed=1043, buffer_text="STEP BUFFER TEXT")
    assert [(g.kind, len(g.item_ids)) for g in found.groups] == [("failure", 4), ("failure", 1), ("success", 3)]
    assert [g.file_name for g in found.groups] == [
        "minibatch_fail_000.json",
        "minibatch_fail_001.json",
        "minibatch_succ_000.json",
    ]
    for text in model.texts("analyst"):
        assert text.count("Be brief.") == 1, "the skill stands in the prompt exactly once"
        assert "STEP BUFFER TEXT" in text and "Answer briefly." in text
    assert "Taxonomy: toy_miss." in model.texts("analyst")[0]
    assert "Taxonomy" not in model.texts("analyst")[2]
    edit = found.patches("failure")[0].edits[0]
    assert (edit.support_count, edit.source_type) == (4, "failure"), "the true group size, whatever the model claims"
    assert ctx.tally.stages["analyst"] == {"calls": 3, "prompt_tokens": 30, "completion_tokens": 15}


async def test_failure_only_and_budget(context):
    ctx, _ = context(lambda request: reply(EDIT, EDIT, EDIT), learning_rate=2, failure_only=True)
    found = await reflect(mixed(2, 3), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert [g.kind for g in found.groups] == ["failure"]
    assert len(found.patches("failure")[0].edits) == 2


async def test_a_bad_reply_is_asked_again_once_then_dropped_and_counted(context):
    ctx, model = context(lambda request: "no json here")
    found = await reflect(mixed(1, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert len(model.asked) == 2 and found.groups[0].reply is None and ctx.tally.dropped == 1 and ctx.tally.reasks == 1
    assert "JSON" in str(model.asked[1].messages[-1].content), "the second question says what was wrong"


async def test_a_reply_cut_by_the_token_limit_is_never_adopted(context):
    ctx, _ = context(lambda request: ChatReply('{"patch": {"reasoning": "", "edits": []}}', finish="length"))
    found = await reflect(mixed(1, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert found.groups[0].reply is None and ctx.tally.dropped == 1


async def test_a_lost_call_costs_its_own_group(context):
    ctx, _ = context(lambda r: TransientModelError("503") if "f0" in str(r.messages[1].content) else reply(EDIT),
                     minibatch_size=1)  # fmt: skip
    found = await reflect(mixed(2, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert sorted(g.lost for g in found.groups) == ["", "call failed: 503"]


async def test_failures_without_one_answered_call_are_an_error(context):
    ctx, _ = context(lambda request: TransientModelError("503 overloaded"))
    with pytest.raises(StopRun, match="503 overloaded"):
        await reflect(mixed(2, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")


async def test_a_fatal_error_passes_through(context):
    ctx, _ = context(lambda request: FatalModelError("401 bad key"))
    with pytest.raises(FatalModelError, match="401"):
        await reflect(mixed(1, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")


async def test_one_broken_edit_does_not_cost_the_others(context):
    ctx, _ = context(lambda request: reply({"op": "append", "content": None}, EDIT, "text"))
    found = await reflect(mixed(1, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    edits = found.patches("failure")[0].edits
    assert [bool(e.invalid) for e in edits] == [True, False, True]


async def test_a_bare_array_is_the_edit_list(context):
    ctx, _ = context(lambda request: [EDIT, EDIT])
    found = await reflect(mixed(1, 0), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert len(found.patches("failure")[0].edits) == 2


async def test_compact_profile_contrasts_right_and_wrong_and_reads_rules(context):
    ctx, model = context(
        lambda request: {"cause": "forgot", "rules": ["- Write  the gold form.", "Write the gold form.", ""]},
        profile="compact",
    )
    found = await reflect(mixed(2, 2), SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="", repeat=3)
    assert [e.content for e in found.patches("failure")[0].edits] == ["- Write the gold form."]
    text = model.texts("analyst")[0]
    assert "said-f0" in text and "gold-f0" in text and "said-s0" in text
    assert model.asked[0].repeat == 3 and model.asked[0].schema is not None


async def test_the_prompt_keeps_its_token_budget_and_says_what_it_cut(context):
    ctx, model = context(lambda request: reply(), prompt_token_budget=3000)
    long = rollout("long", 0.0)
    entry = {"type": "message", "turn": 1, "content": "word " * 40_000}
    big = type(long)(long.item, long.skill_hash, long.outcome, trajectory=(entry,))
    await reflect([big], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    text = model.texts("analyst")[0]
    assert len(text) < 3000 * 4 and "characters cut" in text and "Be brief." in text
