"""SearchQA: prompts, context cut, review turns, golden scoring, taxonomy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.core.item import Item
from skillopt.envs.base import Env, Turn
from skillopt.envs.registry import create_env
from skillopt.envs.searchqa.rollout import CUT_MARK, cut_context
from skillopt.envs.searchqa.scorer import score

from .conftest import Config, qa, shared

ITEM = Item(
    "q", {"question": "Who sang it?", "context": "[DOC] [TLE] A [PAR] words {{ x }}", "answers": ["Gold Value", "GV"]}
)


def env(**keys: object) -> Env:
    return create_env("searchqa", Config(**keys), {})  # type: ignore[arg-type]


def test_messages_hold_skill_context_question_and_no_gold() -> None:
    system, user = env().messages(ITEM, "# My skill\n\nRule one.\n")
    assert system.role == "system" and user.role == "user"
    assert isinstance(system.content, str) and isinstance(user.content, str)
    assert "## Skill" in system.content and "# My skill\n\nRule one.\n" in system.content
    assert "<answer>" in system.content
    assert "words {{ x }}" in user.content and user.content.endswith("Who sang it?")
    assert "Gold Value" not in system.content + user.content


@pytest.mark.parametrize("blank", ["", " \n", "\n\n"])
def test_a_blank_skill_has_no_section(blank: str) -> None:
    system, _ = env().messages(ITEM, blank)
    assert "Skill" not in str(system.content)


def test_the_shared_part_is_rendered_once_per_skill() -> None:
    one = env()
    assert one.messages(ITEM, "a")[0] is one.messages(ITEM, "a")[0]


@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(200, 2000))
def test_context_is_cut_between_documents(sizes: list[int], limit: int) -> None:
    documents = [f"[DOC] {'x' * size}" for size in sizes]
    context = " ".join(documents)
    cut = cut_context(context, limit)
    assert len(cut) <= limit
    if len(context) <= limit:
        assert cut == context
    elif len(documents[0]) + 1 <= limit:
        assert context.startswith(cut) and cut.count("[DOC]") >= 1 and cut.endswith("x")
        kept = cut.count("[DOC]")
        assert cut == " ".join(documents[:kept])
        assert len(" ".join(documents[: kept + 1])) >= limit
    elif len(documents[0]) > limit:
        assert cut.endswith(CUT_MARK)


def test_default_limit_is_6000() -> None:
    item = Item("q", {"question": "?", "context": "[DOC] " + "y" * 9000, "answers": ["a"]})
    _, user = env().messages(item, "")
    assert str(user.content).count("y") == 6000 - len("[DOC] ") - len(CUT_MARK)


def test_review_turns() -> None:
    assert env().next_turn(ITEM, [Turn("u", "no tags")]) is None
    three = env(max_turns=3)
    review = three.next_turn(ITEM, [Turn("u", "<answer>first</answer>")])
    assert review is not None and "words {{ x }}" in review and "<answer>first</answer>" in review
    assert "Gold Value" not in review
    assert three.next_turn(ITEM, [Turn("u", "a"), Turn("u", "no tags")]) is not None
    assert three.next_turn(ITEM, [Turn("u", "a"), Turn("u", "<answer>b</answer>")]) is None
    assert three.next_turn(ITEM, [Turn("u", "a"), Turn("u", "b"), Turn("u", "c")]) is None


def test_score_takes_the_best_gold_and_says_why() -> None:
    got = score(ITEM, "I think <answer>the gold value!</answer>")
    assert (got.hard, got.soft, got.fail_reason, got.predicted) == (1.0, 1.0, "", "the gold value!")
    got = score(ITEM, "<answer>gold</answer>")
    assert (got.hard, round(got.soft, 4), got.detail["sub_em"]) == (0.0, 0.6667, 1.0)
    assert "'gold'" in got.fail_reason and "Gold Value | GV" in got.fail_reason
    assert score(ITEM, "").hard == 0.0


def test_task_golds_prompts_and_skill_file() -> None:
    one = env()
    assert one.task_text(ITEM) == "Who sang it?"
    assert one.golds(ITEM) == ("Gold Value", "GV")
    note = one.prompt("analyst_error") or ""
    assert all(f"`{kind}`" in note for kind in ("rule_missing", "rule_wrong", "rule_ignored", "answer_format", "other"))
    assert one.prompt("analyst_success") and one.prompt("merge_final") is None and one.prompt("../adapter") is None
    skill = Path(__file__).parents[2] / "skillopt/envs/searchqa/skills/initial.md"
    assert 90 <= len(skill.read_text(encoding="utf-8")) <= 110


def test_version_follows_what_can_change_an_answer() -> None:
    assert env().version == env(workers=9).version
    assert env().version != env(max_turns=2).version
    assert env().version != create_env("searchqa", Config(), {"context_chars": 4000}).version


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": None}, "question"), ({"question": " "}, "blank"), ({"context": 5}, "context"),
        ({"answers": []}, "answers"),
        ({"answers": "text"}, "answers"), ({"answers": [1]}, "answers"), ({"id": None}, "'id'"), ({"id": True}, "'id'"),
        ({"id": ""}, "'id'"),
    ],
)  # fmt: skip
def test_required_fields(change: dict[str, object], said: str) -> None:
    from skillopt.core.errors import DataError
    from skillopt.envs.data.loading import Row
    from skillopt.envs.searchqa.dataloader import to_item

    with pytest.raises(DataError, match=said) as caught:
        to_item(Row({**qa("k1"), **change}, "f.json, item 7"))
    assert "f.json, item 7" in str(caught.value)


def test_gold_answers_of_real_items_score_one() -> None:
    root = shared("qa_xquad/searchqa_format")
    splits = create_env("searchqa", Config(split_mode="split_dir", split_dir=str(root)), {}).load()
    for item in (*splits.train, *splits.selection, *splits.test):
        for gold in item.data["answers"]:
            assert score(item, f"because …\n<answer>{gold}</answer>").hard == 1.0
