"""The rewriting modes at the wire: what each stage asks, what it adopts, what it never does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.change import Document, Documents, Suggestion, Suggestions
from skillopt.core.errors import BudgetExceeded, TransientModelError
from skillopt.core.skill import APPENDIX, SLOW_UPDATE, Skill
from skillopt.model.types import ChatReply
from skillopt.optimizer import buffer
from skillopt.optimizer.aggregate import aggregate, merge
from skillopt.optimizer.prompting import PromptBook
from skillopt.optimizer.reflect import reflect
from skillopt.optimizer.rewrite import candidate, rewrite
from skillopt.optimizer.select import select
from skillopt.records.gate import GateRecord
from skillopt.records.vocabulary import Action

from .conftest import SKILL, ToyEnv, rollout

MODES = ("rewrite_from_suggestions", "full_rewrite_minibatch")


def suggestion(name: str, **more: object) -> Suggestion:
    return Suggestion("add_rule", name, f"why {name}", f"Add: {name}.", **more)


def document(name: str, **more: object) -> Document:
    return Document(name, (f"wrote {name}",), f"# {name}\n", **more)


def analyst(mode: str, count: int = 1) -> dict:
    items = [i.to_json() for i in (suggestion(str(n)) if mode == MODES[0] else document(str(n)) for n in range(count))]
    key = "revise_suggestions" if mode == MODES[0] else "skill_candidates"
    return {"batch_size": 1, "patch": {"reasoning": "because", key: items}}


# --- analysts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "cap", "limit"),
    [("patch", 16_384, "At most 3 edits."), (MODES[0], 16_384, "At most 3 suggestions."),
     (MODES[1], 64_000, "One complete replacement skill.")],
)  # fmt: skip
async def test_the_mode_decides_prompt_schema_and_cap_of_the_analysts(context, mode, cap, limit):
    def reply(request):
        return analyst(mode) if mode != "patch" else {"patch": {"reasoning": "", "edits": []}}

    ctx, model = context(reply, update_mode=mode, learning_rate=3)
    await reflect([rollout("f", 0.0), rollout("s", 1.0)], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="BUFFER")
    failure, success = model.asked
    for request in (failure, success):
        text = "\n".join(str(m.content) for m in request.messages)
        assert limit in text and "BUFFER" in text and text.count("Be brief.") == 1
        assert request.max_completion_tokens == cap
        assert "SLOW_UPDATE" in text and "APPENDIX" in text
    assert "Taxonomy: toy_miss." in model.texts("analyst")[0], "the environment's vocabulary holds in every mode"
    assert failure.schema != success.schema


async def test_suggestions_keep_to_the_budget_and_documents_have_none(context):
    ctx, _ = context(lambda request: analyst(MODES[0], 5), update_mode=MODES[0], learning_rate=2)
    found = await reflect([rollout("f", 0.0)], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert [i.title for i in found.patches("failure")[0].items] == ["0", "1"]
    assert found.groups[0].to_json()["patch"]["revise_suggestions"][0]["title"] == "0"
    ctx, _ = context(lambda request: analyst(MODES[1]), update_mode=MODES[1], learning_rate=0)
    found = await reflect([rollout("f", 0.0)], SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    assert found.groups[0].to_json()["patch"]["skill_candidates"][0]["new_skill"] == "# 0\n"


# --- merging and ranking ------------------------------------------------------------------------------------------


async def test_suggestions_merge_level_by_level(context):
    merged = {"reasoning": "", "revise_suggestions": [suggestion("m", support_count=7).to_json()]}
    ctx, model = context(lambda request: merged, update_mode=MODES[0], merge_batch_size=2)
    result = await aggregate(
        [Suggestions((suggestion(n),)) for n in "abc"], [Suggestions((suggestion("s"),))], SKILL, ctx
    )
    assert len(model.asked) == 3 and result.items[0].merge_level is None and result.items[0].support_count == 7
    assert '"merge_level": 1' in model.texts("merge")[0] and "Add: a." in model.texts("merge")[0]
    level = await aggregate([Suggestions((suggestion(n),)) for n in "ab"], [], SKILL, ctx)
    assert level.items[0].merge_level == 1
    only = Suggestions((suggestion("alone"),))
    assert await aggregate([only], [], SKILL, ctx) is only


async def test_documents_merge_into_one_with_room_for_it(context):
    body = {"title": "both", "change_summary": [], "new_skill": "# both\n"}
    merged = {"reasoning": "", "skill_candidates": [body, {**body, "title": "a second one"}]}
    ctx, model = context(lambda request: merged, update_mode=MODES[1], rewrite_max_completion_tokens=50_000)
    inputs = [Documents((document("a", support_count=4),)), Documents((document("b", support_count=3),))]
    result = await aggregate(inputs, [], SKILL, ctx)
    assert [(i.title, i.support_count, i.source_type, i.merge_level) for i in result.items] == [("both", 7, "mixed", 1)]
    assert model.asked[0].max_completion_tokens == 50_000
    joined = await merge("joined", inputs, SKILL, ctx, None)
    assert joined.items[0].title == "both" and "Both documents were tried" in model.texts("merge")[-1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "answer", ["prose", TransientModelError("503"), ChatReply('{"revise_suggestions": []}', finish="length")]
)
async def test_an_unusable_merge_loses_nothing(context, mode, answer):
    ctx, _ = context(lambda request: answer, update_mode=mode)
    make = suggestion if mode == MODES[0] else document
    kind = Suggestions if mode == MODES[0] else Documents
    result = await aggregate([kind((make("a"),)), kind((make("b"),))], [kind((make("c"),))], SKILL, ctx)
    assert [i.title for i in result.items] == ["a", "b", "c"] and result.meta["warning"] and ctx.tally.dropped == 2


async def test_nothing_at_all_is_empty_in_the_shape_of_the_mode(context):
    ctx, _ = context(lambda request: {}, update_mode=MODES[0])
    assert (await aggregate([], [], SKILL, ctx)).to_json() == {"reasoning": "", "revise_suggestions": []}


async def test_suggestions_are_ranked_as_suggestions(context):
    ctx, model = context(lambda request: {"reasoning": "", "selected_indices": [2, 0]}, update_mode=MODES[0])
    three = Suggestions(tuple(suggestion(n) for n in "abc"))
    chosen = await select(three, SKILL, ctx, budget=2)
    assert [i.title for i in chosen.change.items] == ["c", "a"]
    text = model.texts("ranking")[0]
    assert "[1] add_rule «b» (medium priority, support 1, failure): Add: b. Why: why b" in text
    assert "suggestions for revising" in text and model.asked[0].max_completion_tokens == 16_384
    assert chosen.to_json()["ranking_details"]["selected_indices"] == [2, 0]


# --- the rewrite call -----------------------------------------------------------------------------------------------

GOOD = {"reasoning": "r", "change_summary": ["added a"], "new_skill": "# Toy\n\nBe brief.\n\n- a\n"}


async def test_the_call_has_its_own_effort_and_cap(context):
    ctx, model = context(lambda request: GOOD, max_completion_tokens=1_000)
    await rewrite([suggestion("a")], SKILL, ctx, buffer_text="")
    assert (model.asked[0].reasoning_effort, model.asked[0].max_completion_tokens) == (None, 64_000)
    ctx, model = context(lambda request: GOOD, rewrite_reasoning_effort="high", rewrite_max_completion_tokens=9_000)
    await rewrite([suggestion("a")], SKILL, ctx, buffer_text="")
    assert (model.asked[0].reasoning_effort, model.asked[0].max_completion_tokens) == ("high", 9_000)
    assert model.asked[0].stage == "rewrite" and model.asked[0].schema["properties"].keys() == GOOD.keys()


async def test_it_sees_skill_suggestions_and_step_buffer_but_not_the_meta_skill(context):
    ctx, model = context(lambda request: GOOD)
    ctx = replace(ctx, meta_skill="OPTIMIZER MEMORY")
    result = await rewrite([suggestion("alpha"), suggestion("beta")], SKILL, ctx, buffer_text="REJECTED BEFORE")
    text = model.texts("rewrite")[0]
    assert text.count("Be brief.") == 1 and "Add: alpha." in text and "why beta" in text and "REJECTED BEFORE" in text
    assert "OPTIMIZER MEMORY" not in text
    assert (result.change_summary, result.reasoning, result.lost) == (("added a",), "r", "")
    assert ctx.tally.stages["rewrite"] == {"calls": 1, "prompt_tokens": 10, "completion_tokens": 5}
    await rewrite([suggestion("alpha")], SKILL, ctx, buffer_text="")
    assert "Earlier steps" not in model.texts("rewrite")[1]


async def test_an_environment_adds_to_the_prompt(context):
    ctx, model = context(lambda request: GOOD)
    plain = ctx.prompts
    book = PromptBook(lambda name: "Boxes first." if name == "rewrite_skill" else None)
    await rewrite([suggestion("a")], SKILL, replace(ctx, prompts=book), buffer_text="")
    assert "About this kind of task:\nBoxes first." in model.texts("rewrite")[0]
    assert book.version != plain.version


@pytest.mark.parametrize(
    ("answer", "lost"),
    [(ChatReply('{"new_skill": "# Toy"}', finish="length"), "truncated"), ("prose", "JSON"),
     ({"new_skill": " "}, "whole rewritten document"), (TransientModelError("503"), "503")],
)  # fmt: skip
async def test_what_is_cut_lost_or_unreadable_is_never_adopted(context, answer, lost):
    ctx, model = context(lambda request: answer)
    result = await rewrite([suggestion("a")], SKILL, ctx, buffer_text="")
    assert result.text == "" and lost in result.lost and ctx.tally.dropped == 1
    assert len(model.asked) == (2 if answer in ("prose", {"new_skill": " "}) else 1)
    assert result.to_json()["dropped"] == result.lost


async def test_what_stops_the_run_stops_it_here(context):
    ctx, _ = context(lambda request: BudgetExceeded("calls", 2, 1, "budget.max_calls"))
    with pytest.raises(BudgetExceeded):
        await rewrite([suggestion("a")], SKILL, ctx, buffer_text="")


# --- what a text makes of a skill ---------------------------------------------------------------------------------

HEADER = "---\nname: toy\n---\n"
SLOW = f"{SLOW_UPDATE[0]}\nGuidance  as it is. \n{SLOW_UPDATE[1]}"
NOTES = f"{APPENDIX[0]}\n## Execution Notes Appendix\n- a note\n{APPENDIX[1]}"
WHOLE = Skill(f"{HEADER}\n# Toy\n\nBe brief.\n\n{SLOW}\n\n{NOTES}\n")


def test_the_candidate_is_the_new_body_in_the_old_frame():
    assert candidate(SKILL, "# New\n\n- a  \n\n\n") == Skill("# New\n\n- a\n")
    assert candidate(WHOLE, "# New") == Skill(f"{HEADER}# New\n\n{SLOW}\n\n{NOTES}\n")
    tampered = f"---\nname: taken\n---\n# New\n\n{SLOW_UPDATE[0]}\nmine\n{SLOW_UPDATE[1]}\n{APPENDIX[1]}"
    assert candidate(WHOLE, tampered) == Skill(f"{HEADER}# New\n\n{SLOW}\n\n{NOTES}\n")


def test_a_region_left_open_does_not_cost_the_rest_of_the_document():
    new = candidate(WHOLE, f"# New\n{SLOW_UPDATE[0]}\n- a rule\n{APPENDIX[1]}\n- another")
    assert new == Skill(f"{HEADER}# New\n\n- a rule\n\n- another\n\n{SLOW}\n\n{NOTES}\n")


def test_an_unchanged_body_is_the_same_skill_and_an_empty_one_is_none():
    assert candidate(WHOLE, WHOLE.text) is WHOLE
    assert candidate(WHOLE, "# Toy\n\nBe brief.") is WHOLE, "blank lines do not make a new skill"
    for text in ("", " \n", SLOW, f"{HEADER}{NOTES}"):
        assert candidate(WHOLE, text) is None


PIECES = st.sampled_from(["# T", "- rule", "---", "name: x", "\n", "\r\n", " ", *SLOW_UPDATE, *APPENDIX, HEADER, SLOW])


@given(st.lists(PIECES | st.text(max_size=8), max_size=12))
def test_protected_bytes_stay_whatever_is_written(pieces):
    new = candidate(WHOLE, "".join(pieces))
    if new is not None:
        assert [new.text[s.start : s.end] for s in new.protected] == [
            WHOLE.text[s.start : s.end] for s in WHOLE.protected
        ]
        assert new is WHOLE or new.text.endswith(f"{APPENDIX[1]}\n")


# --- the step buffer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "kept", "shown"),
    [(suggestion("Units"), {"type": "add_rule", "title": "Units", "instruction": "Add: Units."},
      "add_rule «Units»: Add: Units."),
     (document("Tidy"), {"title": "Tidy", "change_summary": ["wrote Tidy"]}, "document «Tidy»: wrote Tidy")],
)  # fmt: skip
def test_rejected_items_are_remembered_in_the_shape_of_their_mode(item, kept, shown):
    verdict = GateRecord(action=Action.REJECT, reason="no", candidate_gate_score=0.5)
    entry = buffer.entry(
        step=1, verdict=verdict, current_score=0.5, n_total=4, patterns=[], items=(item,), unmatched=()
    )
    assert entry["rejected_edits"] == [kept]
    assert shown in buffer.render([entry], limit=4000)
