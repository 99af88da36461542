"""Scorers: the golden tables of the specification, and for each kind what it must refuse."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.agents.base import Attempt
from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.core.outcome import Pending, Scored
from skillopt.core.rollout import Rollout
from skillopt.envs.scorers import ANSWER_FORMATS, Gold, build_scorer, extract_answer
from skillopt.envs.scorers.base import ScoresAttempts
from skillopt.envs.scorers.text import exact_match, normalise, sub_match, token_f1
from skillopt.envs.scoring import ScoreContext
from tests.envs.conftest import shared
from tests.timing import within


def score(spec: Any, answer: str, gold: Any, **data: Any) -> Scored:
    scorer, item = build_scorer(spec), Item("q1", data)
    scorer.check(item, Gold.of(gold))
    if isinstance(scorer, ScoresAttempts):
        return asyncio.run(judged(scorer, answer, item, Gold.of(gold)))
    return scorer.score(answer, item=item, gold=Gold.of(gold))


async def judged(scorer: ScoresAttempts, answer: str, item: Item, gold: Gold) -> Scored:
    ctx = ScoreContext(Rollout(item, "", Pending()), "eval")
    outcome = await scorer.score_attempt(answer, gold, Attempt(text=answer), ctx)
    assert isinstance(outcome, Scored)
    return outcome


def hard(spec: Any, answer: str, gold: Any, **data: Any) -> float:
    return score(spec, answer, gold, **data).hard


@pytest.mark.parametrize(
    ("prediction", "gold", "em", "f1", "sub"),
    [
        ("The Beatles", "Beatles", 1, 1, 1),
        ("New York", "New York City", 0, 0.8, 1),
        ("Paris France", "Paris", 0, 0.6667, 1),
        ("Paul McCartney and John", "John Lennon and Paul McCartney", 0, 0.8889, 0),
        ("", "the", 1, 1, 1),
        ("", "Paris", 0, 0, 0),
    ],
)
def test_golden_measures(prediction: str, gold: str, em: int, f1: float, sub: int) -> None:
    assert exact_match(prediction, gold) == bool(em)
    assert round(token_f1(prediction, gold), 4) == f1
    assert sub_match(prediction, gold) == bool(sub)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The  U.S.A.!", "usa"),
        ("rock-n-roll", "rocknroll"),
        ("An apple a day", "apple day"),
        ("Beyoncé’s", "beyoncé’s"),
    ],
)
def test_golden_normal_forms(text: str, form: str) -> None:
    assert normalise(text) == form


@given(st.text(max_size=60), st.text(max_size=60))
def test_f1_is_symmetric_bounded_and_one_for_exact_matches(one: str, other: str) -> None:
    f1 = token_f1(one, other)
    assert 0 <= f1 <= 1 and f1 == token_f1(other, one)
    assert not exact_match(one, other) or f1 == 1


@pytest.mark.parametrize(
    ("how", "text", "answer"),
    [
        ("answer_tag", "x <answer>A</answer> y <ANSWER> b </Answer>", "b"),
        ("answer_tag", "<answer></answer>", ""),
        ("answer_tag", "thinking\n<answer>Paris", "<answer>Paris"),
        ("answer_tag", "<answer>two\nlines</answer>", "two\nlines"),
        ("answer_tag", "I write <answer> then <answer>B</answer>", "B"),
        ("answer_tag", "no tag\n\n last \n\n", "last"),
        ("answer_tag", "", ""),
        ("last_line", "a\r\nb\r\n", "b"),
        ("whole", " a\nb ", "a\nb"),
        ("boxed", r"so \boxed{1} and \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        ("boxed", r"open \boxed{1", r"open \boxed{1"),
        ("json", 'Sure:\n```json\n{"a": 1}\n```\nDone', '{"a": 1}'),
        ("json", 'it is {"a": {"b": [1]}} then', '{"a": {"b": [1]}}'),
        ("json", '{"a": 1} or {"a": 2}', '{"a": 1} or {"a": 2}'),
        ("json", "{not json}", "{not json}"),
    ],
)
def test_extraction(how: Any, text: str, answer: str) -> None:
    assert extract_answer(text, how) == answer


@given(
    st.sampled_from(["answer_tag", "last_line", "whole", "boxed", "json"]),
    st.text(alphabet='<>/answer\\boxed{}[]" \n`', max_size=80),
)
def test_extraction_never_raises(how: Any, text: str) -> None:
    assert isinstance(extract_answer(text, how), str)


@pytest.mark.parametrize("unit", [r"\boxed{", "[", '{"a":', "<answer>", "answer ", "answer" + " " * 50, "1,", "(A"])
def test_a_reply_that_repeats_itself_is_judged_quickly(unit: str) -> None:
    text = unit * (60_000 // len(unit))

    def judge() -> None:
        for how in ANSWER_FORMATS:
            extract_answer(text, how)  # type: ignore[arg-type]
        hard("multiple_choice", text, "B", **OPTIONS)
        hard("numeric", text, 5)
        hard("normalised", text, "x")

    assert within(2, judge)


def test_exact_and_normalised() -> None:
    assert hard("exact", " +49 30 1 \n", "+49 30 1") == 1
    assert hard("exact", "a", "A") == 0
    assert hard({"name": "exact", "ignore_case": True}, "a", ["b", "A"]) == 1
    got = score("normalised", "New York", ["New York City", "Boston"])
    assert (got.hard, round(got.soft, 4)) == (0, 0.8)
    assert "New York" in got.fail_reason and "Boston" in got.fail_reason


def test_contains_respects_words_and_length() -> None:
    assert hard("contains", "It is Paris.", "paris") == 1
    assert hard("contains", "there are 10", "1") == 0
    assert hard({"name": "contains", "whole_words": False}, "there are 10", "1") == 1
    assert hard("contains", "C++ it is", "C++") == 1
    half = score({"name": "contains", "need": "all"}, "red only", ["red", "blue"])
    assert (half.hard, half.soft) == (0, 0.5)
    assert hard({"name": "contains", "max_chars": 5}, "paris paris", "paris") == 0


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("42", 1), ("about 42.0 km", 1), ("3 boxes hold 42", 1), ("$42", 1), ("42.", 1), ("-42", 0),
        ("42,000", 0), ("", 0),
        ("forty-two", 0), ("4.2e1", 1), ("42%", 1), ("v42", 0),
    ],
)  # fmt: skip
def test_numeric_reading(answer: str, right: int) -> None:
    assert hard("numeric", answer, 42) == right


def test_numeric_tolerance_is_decimal() -> None:
    assert hard({"name": "numeric", "absolute": 0.1}, "0.4", "0.3") == 1
    assert hard({"name": "numeric", "absolute": 0.1}, "0.4001", "0.3") == 0
    assert hard({"name": "numeric", "relative": 0.01}, "1,010", "1000") == 1
    assert hard({"name": "numeric", "relative": 0.01}, "1011", "1000") == 0
    assert hard("numeric", "\u22125", "-5") == 1
    assert hard({"name": "numeric", "pick": "only"}, "5 or 6", "6") == 0
    assert hard({"name": "numeric", "pick": "first"}, "5 or 6", "5") == 1
    with pytest.raises(DataError, match=r"'q1'.*'many'"):
        hard("numeric", "1", "many")


def test_regex_is_verbatim_and_compiled_at_load() -> None:
    assert hard({"name": "regex", "pattern": "end "}, "the end ", None) == 1
    assert hard({"name": "regex", "pattern": "end "}, "the end", None) == 0
    assert hard({"name": "regex", "match": "full"}, "+4930", [r"\+\d+"]) == 1
    for pattern in ("(?i)a|(?i)b", "(", "[a", "*"):
        with pytest.raises(ConfigError, match="does not compile"):
            build_scorer({"name": "regex", "pattern": pattern})
        with pytest.raises(DataError, match=r"'q1'.*does not compile"):
            hard("regex", "a", pattern)


OPTIONS = {"choices": ["London", "Paris", "Rome"]}


@pytest.mark.parametrize(
    "answer",
    ["B", "b", "(B)", "B)", "B.", "**B**", "Answer: B", "The answer is (B).", "B) Paris", "(B) Paris",
     "Paris", "paris.",
     "I choose option B", "Not London, so the final answer is **B**", "It must be (B) then", "The capital is Paris",
     "A good question. The answer is B", "answer: b", "[B]", "B: Paris", "A) London\nB) Paris\nAnswer: B"],
)  # fmt: skip
def test_multiple_choice_understands(answer: str) -> None:
    assert hard("multiple_choice", answer, "B", **OPTIONS) == 1
    assert hard("multiple_choice", answer, "Paris", **OPTIONS) == 1
    assert hard("multiple_choice", answer, "A", **OPTIONS) == 0


@pytest.mark.parametrize("answer", ["", "D", "(A) or (B)", "London or Paris", "I do not know", "the answer is a city"])
def test_multiple_choice_chose_nothing(answer: str) -> None:
    got = score("multiple_choice", answer, "B", **OPTIONS)
    assert got.hard == 0 and "no option" in got.fail_reason


def test_multiple_choice_shapes() -> None:
    assert hard("multiple_choice", "2", "2", choices={"1": "x", "2": "y"}) == 1
    assert hard("multiple_choice", "y", "2", choices=[{"label": "1", "text": "x"}, {"label": "2", "text": "y"}]) == 1
    assert hard("multiple_choice", "(C)", "(C)") == 1
    with pytest.raises(DataError, match=r"'q1'.*none of the options"):
        hard("multiple_choice", "A", "Berlin", **OPTIONS)


def test_json_fields() -> None:
    gold = {"name": "Ann", "age": 5, "ok": True}
    assert hard("json_fields", json.dumps(gold), gold) == 1
    assert hard("json_fields", "```json\n" + json.dumps(gold) + "\n```", json.dumps(gold)) == 1
    two = score("json_fields", '{"name": "Ann", "age": "5", "ok": true}', gold)
    assert (two.hard, round(two.soft, 4), two.detail["wrong_fields"]) == (0, 0.6667, ["age"])
    assert hard("json_fields", '{"name": "Ann", "age": 5, "ok": 1}', gold) == 0
    rules = {"name": "json_fields", "fields": {"name": {"kind": "text"}, "age": {"kind": "number", "absolute": 1}}}
    assert hard(rules, '{"name": "ANN ", "age": "5.5", "extra": 0}', gold) == 1
    assert hard(rules | {"extra_fields": "refuse"}, '{"name": "Ann", "age": 5, "extra": 0}', gold) == 0
    for broken in ("", "{", "[1]", "null", "plain", '{"name": NaN}', '{"name": "x", "name": "Ann"}'):
        got = score("json_fields", broken, gold)
        assert (got.hard, got.soft) == (0, 0) and got.fail_reason
    with pytest.raises(DataError, match="'q1'"):
        hard("json_fields", "{}", "no object")


FUNCTION = """
def half(answer, item):
    return {"hard": 0.0, "soft": 0.5, "fail_reason": item["why"]}
def same(answer, item):
    return answer == item["truth"]
def nan(answer, item):
    return float("nan")
def odd(answer, item):
    return {"mark": 1}
def none(answer, item):
    return None
def crash(answer, item):
    raise KeyError("boom")
"""


def test_callable_from_the_project_directory(tmp_path: Path) -> None:
    (tmp_path / "my_scorer_for_tests.py").write_text(FUNCTION)

    def spec(name: str) -> dict[str, str]:
        return {"name": "callable", "function": f"my_scorer_for_tests:{name}", "directory": str(tmp_path)}

    got = score(spec("half"), "x", None, why="reasons")
    assert (got.hard, got.soft, got.fail_reason, got.predicted) == (0, 0.5, "reasons", "x")
    assert hard(spec("same"), "g", None, truth="g") == 1
    for name in ("nan", "odd", "none", "crash"):
        with pytest.raises(DataError, match="'q1'"):
            hard(spec(name), "x", None)
    with pytest.raises(ConfigError, match="no function"):
        hard(spec("absent"), "x", None)
    before = build_scorer(spec("same")).identity()
    (tmp_path / "my_scorer_for_tests.py").write_text(FUNCTION + "\n# changed\n")
    assert build_scorer(spec("same")).identity() != before
    with pytest.raises(ConfigError, match="no module"):
        hard({"name": "callable", "function": "no_such_module_here:f"}, "x", None)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("exactly", "exactly"),
        (None, "scorer"),
        ({"name": "exact", "ignore_cases": True}, "ignore_cases"),
        ({"name": "contains", "max_chars": True}, "max_chars"),
        ({"name": "contains", "max_chars": -5}, "max_chars"),
        ({"name": "contains", "max_chars": "5"}, "max_chars"),
        ({"name": "numeric", "absolute": True}, "absolute"),
        ({"name": "numeric", "absolute": -1.0}, "absolute"),
        ({"name": "numeric", "relative": float("nan")}, "relative"),
        ({"name": "regex", "pattern": 5}, "pattern"),
        ({"name": "callable"}, "function"),
        ({"name": "callable", "function": "no_colon"}, "module:function"),
        ({"name": "json_fields", "fields": {"a": {"kind": "float"}}}, "kind"),
    ],
)
def test_options_are_typed(spec: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        build_scorer(spec)
    assert "\n" not in str(caught.value)


def test_an_item_without_gold_is_refused() -> None:
    for spec in ("exact", "normalised", "contains", "numeric", "regex", "multiple_choice", "json_fields"):
        with pytest.raises(DataError, match="'q1'"):
            hard(spec, "x", None)


def test_gold_of_real_data_scores_itself() -> None:
    for line in shared("gsm8k/test_first_120.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        final = row["answer"].split("####")[-1].strip()
        assert hard("numeric", row["answer"], final) == 1
    for row in json.loads(shared("bbh/date_understanding.json").read_text(encoding="utf-8"))["examples"]:
        assert hard("multiple_choice", f"So the answer is {row['target']}.", row["target"]) == 1
