"""Skill-aware reflection: the shapes of notes, what analysts are asked and may answer, the shortened list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.editing.regions import appendix_notes, note_key, with_appendix
from skillopt.core.errors import FatalModelError, TransientModelError
from skillopt.core.skill import MARKERS, Skill
from skillopt.model.types import ChatReply
from skillopt.optimizer.appendix import CAUSES, LABELS, consolidate, new_notes, read_notes
from skillopt.optimizer.reflect import reflect

from .conftest import SKILL, ToyEnv, rollout

EDIT = {"op": "append", "content": "When asked, answer."}
BOTH = ("failure", "success")


@pytest.mark.parametrize(
    ("raw", "notes"),
    [
        (["Check units.", "check  units", "Look twice"], ("Check units.", "Look twice")),
        ("Check units.", ("Check units.",)),
        ([{"note": "Check units."}, {"content": "Look twice"}, {"text": "no"}], ("Check units.", "Look twice")),
        ({"note": "Check units."}, ("Check units.",)),
        (["- Check\n units.", "* Check units", " … "], ("Check units.", "…")),
        ([None, 3, True, [], "", " .;:,_- ", {"note": None}], ()),
        (None, ()),
        ([f"a {MARKERS[0]}b", "\ud800 half"], ("a b",)),
    ],
)
def test_shapes_of_notes(raw: object, notes: tuple[str, ...]) -> None:
    assert read_notes(raw) == notes


def test_one_note_by_its_key_and_the_first_wording_wins() -> None:
    assert new_notes(["Check  units. "], ["check units", "Look twice", "LOOK twice;"]) == ("Look twice",)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)
                    | st.dictionaries(st.sampled_from(["note", "content", "x"]), inner)))  # fmt: skip
def test_notes_of_anything_fit_into_the_region_and_come_back(raw: object) -> None:
    notes = read_notes(raw)
    assert len({note_key(n) for n in notes}) == len(notes) and all(note_key(n) for n in notes)
    skill = with_appendix(Skill("# Body\n"), notes)
    assert skill.text.encode().count(b"APPENDIX_START") == 1
    assert appendix_notes(skill) == notes


def answer(request: object) -> dict:
    return {
        "batch_size": 1,
        "failure_summary": [{"cause": "EXECUTION_LAPSE", "failure_type": "ignored", "count": 1, "description": "x"}],
        "patch": {"reasoning": "", "edits": [EDIT]},
        "labels": ["DISCOVERY", "nonsense"],
        "appendix_notes": ["Be brief, as the skill says."],
    }


MIXED = [rollout("f0", 0.0, "long"), rollout("s0", 1.0)]


async def run(context, answer, **settings):
    ctx, model = context(answer, **settings)
    found = await reflect(MIXED, SKILL, ToyEnv(), ctx, batch_seed=1, buffer_text="")
    return found, model, ctx


async def test_the_switch_changes_prompt_and_schema_of_both_analysts(context) -> None:
    _, off, _ = await run(context, answer)
    found, on, _ = await run(context, answer, reminders=BOTH)
    for before, after in zip(off.asked, on.asked, strict=True):
        said = [str(m.content) for m in before.messages], [str(m.content) for m in after.messages]
        assert said[0][0] != said[1][0] and said[0][1] == said[1][1]
        assert "appendix_notes" not in str(before.schema) and "appendix_notes" in after.schema["required"]
    failure, success = on.asked
    assert all(word in str(failure.messages[0].content) for word in CAUSES)
    assert all(word in str(success.messages[0].content) for word in LABELS)
    assert failure.schema["properties"]["failure_summary"]["items"]["properties"]["cause"]["enum"] == list(CAUSES)
    assert found.notes == ("Be brief, as the skill says.",) * 2
    bodies = [g.to_json() for g in found.groups]
    assert bodies[0]["failure_summary"][0]["cause"] == "EXECUTION_LAPSE"
    assert bodies[1]["labels"] == ["DISCOVERY"] and bodies[1]["appendix_notes"] == ["Be brief, as the skill says."]
    assert len(found.patches("failure")) == len(found.patches("success")) == 1


async def test_with_failure_only_the_success_analyst_is_asked_for_none_and_its_notes_do_not_count(context) -> None:
    found, model, _ = await run(context, answer, reminders=("failure",))
    assert found.notes == ("Be brief, as the skill says.",)
    success = model.asked[1]
    assert "appendix_notes" not in success.schema["properties"] and "labels" in success.schema["properties"]
    assert "appendix_notes" not in str(success.messages[0].content)


async def test_notes_alone_are_a_carrier_and_neither_is_asked_again(context) -> None:
    found, model, ctx = await run(context, lambda r: {"appendix_notes": "Be brief."}, reminders=BOTH)
    assert len(model.asked) == 2 and ctx.tally.dropped == 0
    assert found.notes == ("Be brief.", "Be brief.")
    assert found.patches("failure") == found.patches("success") == []
    assert found.groups[0].to_json()["patch"]["edits"] == []


async def test_neither_notes_nor_a_patch_is_asked_again(context) -> None:
    found, model, _ = await run(context, lambda r: {"appendix_notes": []}, reminders=BOTH)
    assert len(model.asked) == 4 and found.notes == ()


async def test_a_broken_patch_beside_notes_is_asked_again(context) -> None:
    _, model, _ = await run(context, lambda r: {"patch": {"edits": "x"}, "appendix_notes": ["n"]}, reminders=BOTH)
    assert len(model.asked) == 4


async def test_whole_documents_have_no_notes(context) -> None:
    ctx, _ = context(answer, reminders=BOTH, update_mode="full_rewrite_minibatch")
    assert not ctx.aware


NOTES = ("Check units.", "Check the units.", "Look twice")


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ({"notes": ["Check units.", "Look twice"]}, ("Check units.", "Look twice")),
        (["Check units."], ("Check units.",)),
        ({"notes": []}, NOTES),
        ({"notes": [*NOTES]}, NOTES),
        ({"notes": [*NOTES, "more"]}, NOTES),
        ({"notes": None}, NOTES),
        ("no json", NOTES),
        (ChatReply('{"notes": ["a"]}', finish="length"), NOTES),
        (TransientModelError("503"), NOTES),
    ],
)
async def test_a_shortened_list_is_shorter_or_the_old_one_stays(context, reply, kept) -> None:
    ctx, model = context(lambda request: reply)
    result = await consolidate(NOTES, ctx)
    assert result.notes == kept
    assert bool(result.lost) is (kept == NOTES)
    request = model.asked[0]
    assert (request.stage, request.max_completion_tokens, request.attempts) == ("appendix_consolidate", 4096, 2)
    assert all(note in str(request.messages[-1].content) for note in NOTES)
    assert len(model.asked) <= 2


async def test_what_ends_the_run_ends_it_here(context) -> None:
    ctx, _ = context(lambda request: FatalModelError("401"))
    with pytest.raises(FatalModelError):
        await consolidate(NOTES, ctx)
