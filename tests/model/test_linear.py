"""Every parser of a model's text takes time in proportion to the text, whatever the text is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.adapters.promptfoo_asserts import score
from skillopt.core.errors import ReplyError
from skillopt.envs.scorers import extract
from skillopt.envs.scorers.choice import chosen
from skillopt.envs.scorers.numeric import numbers_in
from skillopt.model.replies import parse_reply
from skillopt.model.traffic.reply_warnings import is_reasoning_only
from skillopt.sleep.replies import first_object
from tests.timing import is_linear, within

UNITS = [
    "{ x } ", "{", "[", "}", "]", "[{", '{"', '{"a":', '{"a":1} ', '{"a":1,} ', '{"a":1,,}', '{"a":1} // x\n', "/*",
    "/* */", '"', '\\"', '"\\"', "<think>", "</think>", "</think>[", "<think></think>", "```", "``` [", "```x\n", " ",
    "\n", "[ ", "{ ", ", ", "{a", "[1] ", "[//", "{'a'} ", "<answer>", "</answer>", "<answer></answer>", "\\boxed{",
    "answer: ", "answer is ", "(a", "**", "1,", "111,", "- ", "a", "<reasoning>", "[{}] ", "{}", "//", "{/*",
]  # fmt: skip


def tolerant(parse: Callable[[str], object]) -> Callable[[str], None]:
    def run(text: str) -> None:
        with contextlib.suppress(ReplyError):
            parse(text)

    return run


PARSERS: dict[str, Callable[[str], None]] = {
    "parse_reply": tolerant(parse_reply),
    "is_reasoning_only": tolerant(is_reasoning_only),
    "tagged": tolerant(extract.tagged),
    "last_line": tolerant(extract.last_line),
    "boxed": tolerant(extract.boxed),
    "json_text": tolerant(extract.json_text),
    "numbers_in": tolerant(numbers_in),
    "first_object": tolerant(first_object),
    "contains_json": tolerant(lambda text: score(text, {"assert": [{"type": "contains-json"}]})),
    "chosen": tolerant(lambda text: chosen(text, {"A": "first", "B": "second"})),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", PARSERS)
def test_doubling_doubles(name: str) -> None:
    """Four times the text may take eight times as long (a generous factor); a square would take sixteen times."""
    parse = PARSERS[name]
    for unit in UNITS:
        for around in (("", ""), ('"', ""), ("[", "]")):

            def parsed(size: int, unit: str = unit, around: tuple[str, str] = around) -> None:
                parse(around[0] + unit * (size // len(unit)) + around[1])

            assert is_linear(parsed, 5_000, factor=8, slack=0.05), (unit, around)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=4), st.sampled_from(UNITS))
def test_mixtures_stay_cheap(units: list[str], end: str) -> None:
    text = "".join(units) * (10_000 // len("".join(units))) + end
    for name, parse in PARSERS.items():
        assert within(1.0, lambda parse=parse: parse(text)), (name, units, end)


def test_the_reported_replies() -> None:
    for text in ("{ x } " * 33_000, "{" * 200_000):
        with pytest.raises(ReplyError):
            parse_reply(text)
        assert within(1.0, lambda text=text: tolerant(parse_reply)(text))


def test_what_is_tolerated_is_tolerated_still() -> None:
    assert parse_reply('{ note } {"a": 1, /* it is "so" */ "b": [1, 2,], // end\n}') == {"a": 1, "b": [1, 2]}
    assert parse_reply('x /* {"a": 1} and http://x') == {"a": 1}
    assert parse_reply('{"a": "// no /* comment"} see /* this') == {"a": "// no /* comment"}
    assert parse_reply("<think>[1]</think>\n```json\n[1, 2,]\n```") == [1, 2]
    assert parse_reply('{"a": 1,} and then { prose }') == {"a": 1}
    with pytest.raises(ReplyError, match="2 JSON values"):
        parse_reply('{"a": 1,} {"b": 2,}')
