"""How a scorer is written, and what is said when it is written wrongly: one line in the configuration's words."""

from __future__ import annotations

import pytest

from skillopt.core.errors import ConfigError, DataError
from skillopt.core.item import Item
from skillopt.envs.scorers import Gold, build_scorer
from skillopt.envs.scorers.function import Function


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("exact", "exact"),
        ({"name": "numeric", "absolute": 0.1}, "numeric"),
        ("my_scorer:score", "callable"),
        ({"name": "callable", "function": "my_scorer:score"}, "callable"),
    ],
)
def test_the_forms(written, name):
    assert build_scorer(written).model_dump()["name"] == name


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("foo", "available: exact, normalised, contains, numeric, regex, multiple_choice, labels, json_fields"),
        ("foo", "your own: module:function"),
        ({"name": "foo"}, "no scorer is called 'foo'"),
        ({"name:numeric": None, "absolute:0.1": None}, "a space after each colon"),
        ({"absolute": 0.1}, "needs a name"),
        ({"name": "numeric", "absolut": 0.1}, "its options: absolute, relative, pick"),
        ({"name": "callable"}, "{name: callable, function: module:function}"),
        ("a:b:c", "{name: callable, function: module:function}"),
        (["exact"], "a name or a mapping"),
        (None, "a name or a mapping"),
    ],
)
def test_what_is_said(written, said):
    with pytest.raises(ConfigError) as caught:
        build_scorer(written)
    text = str(caught.value)
    assert said in text and "\n" not in text
    assert "discriminator" not in text and "tag" not in text


def test_a_worked_solution_is_no_number_and_the_hint_says_what_is():
    item = Item("i", {"answer": "9 + 9\n#### 18"})
    with pytest.raises(DataError, match=r"bare result in every item \(here 18\).*env.answer_field"):
        build_scorer("numeric").check(item, Gold.of(item.data["answer"]))


@pytest.mark.parametrize("place", ["data", "."])
def test_a_module_beside_the_items_is_found(tmp_path, place):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tasks.jsonl").write_text("")
    module = f"beside_{'items' if place == 'data' else 'project'}"
    (tmp_path / place / f"{module}.py").write_text("def score(answer, item):\n    return 1\n")
    scorer = build_scorer(f"{module}:score")
    assert isinstance(scorer, Function)
    with pytest.raises(ConfigError, match=f"put {module}.py into"):
        _ = scorer.loaded
    found = scorer.looking_beside(tmp_path / "data/tasks.jsonl")
    assert found.loaded("", {}) == 1 and found.identity()["function"] == scorer.function
